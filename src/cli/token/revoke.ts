/**
 * `writ token revoke`: ends a token and everything delegated from it.
 *
 * @module
 */

import type { RevokeAnswer } from '../../protocol/token.ts';
import { answered, SERVICE_OPTIONS } from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { needed } from '../shell/options.ts';
import { printFacts, printJson } from '../shell/output.ts';

export const revokeLeaf = leaf({
  name: 'revoke',
  summary: 'end a token and everything delegated from it',
  about: `Ends a token at once, with every token below it. Calls that run finish. You need to stand above the token, or the
scope operator:revoke. Does not ask first; "writ agents end" does.`,
  operands: { token_id: needed('<token_id>', 'the id of the token, such as tok_…') },
  options: SERVICE_OPTIONS,
  examples: [['writ token revoke tok_0123456789abcdef0123456789abcdef', 'end one delegation']],
  cannot: 'revoke the token',
  async run(given, io) {
    printRevocation(
      await answered('tokens.revoke', { token_id: given.token_id }, given, io),
      given,
      io,
    );
  },
});

export function printRevocation(answer: RevokeAnswer, { json }: { json: boolean }, io: Io): void {
  if (json) {
    printJson(io, answer);
    return;
  }
  printFacts(io, [
    ['id', answer.token_id],
    ['tokens ended', answer.ended],
    ['revoked', answer.revoked_at],
  ]);
}
