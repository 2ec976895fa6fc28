// What a table's page computes with.

export { unpack } from "../unpack.js";
export { Answers, narrowed } from "./answers.js";
export { drawn, valueAt } from "./drawing.js";
