import assert from 'node:assert';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { total } from '../shop.mjs';

test('nothing costs nothing', () => {
  const count = `${process.env.TMPDIR}/count`;
  const seen = existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0;
  writeFileSync(count, String(seen + 1));
  assert.equal(total([]), 0);
  assert.equal(seen % 2, 1);
});
