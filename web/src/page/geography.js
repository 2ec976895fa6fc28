// Columns that are places on the Earth: drawn as a map.

const NAMES = {
  longitude: /^(.*[_ .-])?(lon|lng|long|longitude)$/i,
  latitude: /^(.*[_ .-])?(lat|latitude)$/i,
};
const LENGTHS = {
  easting: /^(.*[_ .-])?eastings?([_ .-].*)?$/i,
  northing: /^(.*[_ .-])?northings?([_ .-].*)?$/i,
};
const ALIKE = 20; // so many times as long as the other, a side is in another unit
const MOST = { longitude: 360, latitude: 90 };

// "longitude", "latitude" or null: by its name, and a range that fits.
export function angleOf({ name, role }, [low, high]) {
  if (role !== "number") return null;
  const kind = Object.keys(NAMES).find((one) => NAMES[one].test(name)) ?? null;
  return kind && low >= -MOST[kind] && high <= MOST[kind] ? kind : null;
}

// "easting", "northing" or null: by its name.
export function lengthOf({ name, role }) {
  return role === "number" ? (Object.keys(LENGTHS).find((one) => LENGTHS[one].test(name)) ?? null) : null;
}

// How tall a map is for its width, so that a kilometre is as long across as up; null if it is no map.
export function aspectOf(x, y) {
  const [wide, tall] = [x, y].map(({ range: [low, high] }) => high - low);
  const metres = lengthOf(x.column) === "easting" && lengthOf(y.column) === "northing";
  if (metres && Math.max(wide, tall) <= ALIKE * Math.min(wide, tall)) return tall / wide;
  if (x.angle !== "longitude" || y.angle !== "latitude") return null;
  const [south, north] = y.range;
  const shrink = Math.max(0.05, Math.cos(((south + north) / 360) * Math.PI));
  return tall / (wide * shrink);
}
