/**
 * Writes the recorded sessions into their pages: `npm run sessions`, or with names only those.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import { pageOf, recordSession, withSession } from './recorded-sessions.ts';
import { SESSIONS } from './session-list.ts';

const names = process.argv.slice(2);

for (const session of SESSIONS) {
  if (names.length > 0 && !names.includes(session.name)) continue;
  const recorded = await recordSession(session);
  const { path, text } = pageOf(session);
  writeFileSync(path, withSession(text, session, recorded));
  console.log(`recorded ${session.name}`);
}
