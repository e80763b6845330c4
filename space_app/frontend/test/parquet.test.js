import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePayload, readColumns } from "../src/parquet.js";

test("Python's words for what is not finite become the API's", () => {
  assert.deepEqual(parsePayload('{"a":NaN,"b":[Infinity,-Infinity,-1.5e-7,0],"c":null,"d":true}'), {
    a: { $float: "NaN" }, b: [{ $float: "Infinity" }, { $float: "-Infinity" }, -1.5e-7, 0], c: null, d: true,
  });
});

test("words within texts and keys stay what they are", () => {
  const text = 'NaN, "Infinity" and \\ 99999999999999999999';
  assert.deepEqual(parsePayload(JSON.stringify({ [text]: text })), { [text]: text });
});

test("whole numbers that a double cannot hold keep their digits", () => {
  assert.deepEqual(parsePayload("[9007199254740992,9007199254740993,-9007199254740993,1e300]"), [
    2 ** 53, { $int: "9007199254740993" }, { $int: "-9007199254740993" }, 1e300,
  ]);
});

test("bytes that are no Parquet are an error", async () => {
  await assert.rejects(readColumns(new TextEncoder().encode("no Parquet at all").buffer, ["x"]));
});
