import assert from "node:assert/strict";
import test from "node:test";
import { decode, revive } from "../src/wire.js";

function encode(header, arrays) {
  let json = JSON.stringify(header);
  while ((4 + Buffer.byteLength(json)) % 8) json += " ";
  const head = Buffer.from(json);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  const body = Buffer.concat([length, head, ...arrays.map((array) => Buffer.from(Float64Array.from(array).buffer))]);
  return body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength);
}

test("arrays come back where the header says, NaN and infinities included", () => {
  const header = { cursor: 3, note: "é", arrays: [{ offset: 0, length: 2 }, { offset: 16, length: 3 }] };
  const answer = decode(encode(header, [[1, 2], [NaN, Infinity, -0]]));
  assert.equal(answer.header.note, "é");
  assert.deepEqual([...answer.arrays[0]], [1, 2]);
  assert.deepEqual([...answer.arrays[1]], [NaN, Infinity, -0]);
});

test("an answer that was cut short is an error, not a chart", () => {
  const whole = encode({ arrays: [] }, []);
  assert.throws(() => decode(whole.slice(0, 3)), /at least 4/);
  assert.throws(() => decode(whole.slice(0, 10)), /cut short/);
});

test("wrapped numbers are revived, everything else is left alone", () => {
  assert.equal(revive({ $int: "9223372036854775807" }), 9223372036854775807n);
  assert.ok(Number.isNaN(revive({ $float: "NaN" })));
  assert.equal(revive({ $float: "-Infinity" }), -Infinity);
  assert.equal(revive("NaN"), "NaN");
  assert.equal(revive(null), null);
});
