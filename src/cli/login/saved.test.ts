import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { type SavedLogin, savedLogins, saveLogin, saveRenewal } from './saved.ts';

const DESK = 'https://desk.example';

function login(generation: number): SavedLogin {
  return {
    client_id: 'writ-cli',
    token_endpoint: `${DESK}/token`,
    access_token: `access ${generation}`,
    refresh_token: `refresh ${generation}`,
    expires_at: new Date(Date.UTC(2026, 0, 1, 0, generation)).toISOString(),
  };
}

const table: [
  name: string,
  stored: SavedLogin | undefined,
  renewal: [seen: SavedLogin, next: SavedLogin | undefined],
  expected: SavedLogin | undefined,
][] = [
  ['stores the next tokens', login(1), [login(1), login(2)], login(2)],
  ['removes a delegation that ended', login(1), [login(1), undefined], undefined],
  ['keeps what another command renewed later', login(3), [login(1), login(2)], login(3)],
  ['replaces what another command renewed before', login(2), [login(1), login(3)], login(3)],
  ['keeps a new login although an older one ended', login(5), [login(1), undefined], login(5)],
  ['does not bring back a login that was removed', undefined, [login(1), login(2)], undefined],
];
for (const [name, stored, [seen, next], expected] of table) {
  test(`saveRenewal() ${name}`, async () => {
    const file = join(temporaryFolder(), 'logins.json');
    await saveLogin(file, DESK, stored);
    await saveRenewal(file, DESK, seen, next);

    assert.deepEqual(savedLogins(file)[DESK], expected);
  });
}

test('saveLogin() writes several times at once, each time a whole file for this user', async () => {
  const file = join(temporaryFolder(), 'logins.json');
  await Promise.all([1, 2, 3, 4].map((each) => saveLogin(file, DESK, login(each))));

  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(savedLogins(file)[DESK]?.access_token ?? '', /^access [1-4]$/);
  assert.deepEqual(readdirSync(dirname(file)), ['logins.json']);
});
