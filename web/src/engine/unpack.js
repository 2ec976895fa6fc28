// What Python wrote into the page, read back: its description, and the arrays that it names, which are compressed.

const KINDS = { i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array, u2: Uint16Array, u4: Uint32Array };

export async function unpack(text, base64) {
  const description = JSON.parse(text);
  const whole = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return { description, arrays: arraysIn(description, await new Response(whole).arrayBuffer()) };
}

function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function arraysIn({ arrays }, buffer) {
  const found = Object.entries(arrays).map(([name, { kind, first, size }]) => [
    name,
    new KINDS[kind](buffer, first, size),
  ]);
  return Object.fromEntries(found);
}
