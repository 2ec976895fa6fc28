// Columns that are places on the Earth: drawn as a map, labelled in degrees.

const NAMES = {
  longitude: /^(.*[_ .-])?(lon|lng|long|longitude)$/i,
  latitude: /^(.*[_ .-])?(lat|latitude)$/i,
};
const MOST = { longitude: 360, latitude: 90 };
const SIDES = { longitude: ["E", "W"], latitude: ["N", "S"] };

// "longitude", "latitude" or null: by its name, and a range that fits.
export function angleOf({ name, role }, [low, high]) {
  if (role !== "number") return null;
  const kind = Object.keys(NAMES).find((one) => NAMES[one].test(name)) ?? null;
  return kind && low >= -MOST[kind] && high <= MOST[kind] ? kind : null;
}

// 11.6 → "11.6° E".
export function degrees(kind, value, text) {
  const side = value === 0 ? "" : ` ${SIDES[kind][value < 0 ? 1 : 0]}`;
  return `${text.replace("−", "")}°${side}`;
}

// How tall a map is for its width, so that a kilometre is as long across as up; null if it is no map.
export function aspectOf(x, y) {
  if (x.angle !== "longitude" || y.angle !== "latitude") return null;
  const [south, north] = y.range;
  const shrink = Math.max(0.05, Math.cos(((south + north) / 360) * Math.PI));
  return (north - south) / ((x.range[1] - x.range[0]) * shrink);
}
