/**
 * Attacks to expect, and the test of each: a file, and a part of the title of a test in it.
 *
 * `classes.test.ts` finds every one of them. The fuzz (`fuzz.ts`), the floods and the peers of this folder are for
 * what no list names.
 *
 * @module
 */

type Proof = readonly [file: string, title: string];

/** By class, then by attack. */
export const ATTACKS: Readonly<Record<string, Readonly<Record<string, readonly Proof[]>>>> = {
  'tokens and delegation': {
    'another algorithm, tricks with the header': [
      ['src/keyring/wire.test.ts', 'refuses a signed header with'],
      ['test/oidc/refusals.test.ts', 'a token with algorithm "none" is refused'],
      ['test/oidc/refusals.test.ts', 'signed with HS256 and the public key as secret'],
    ],
    'an artefact of one kind presented as another': [
      ['src/keyring/wire.test.ts', 'accepts each artefact as itself and as no other'],
      ['test/authority/verify.test.ts', 'refuses an artefact of another kind'],
      ['test/authority/verify.test.ts', "refuses the service's own signed documents"],
      ['test/oidc/refusals.test.ts', 'an external token is never a delegation token'],
    ],
    'texts that decode to the same bytes': [
      ['src/keyring/wire.test.ts', 'refuses a text with'],
      ['test/authority/verify.test.ts', 'the same token in both spellings of its signature'],
      ['src/keyring/wire-fuzz.test.ts', 'edits of valid tokens'],
    ],
    'claims of the wrong type, twice, missing, far in the future': [
      ['src/keyring/wire.test.ts', 'readClaims() refuses'],
      ['test/oidc/refusals.test.ts', 'is refused'],
    ],
    'a signature over a token that was never stored, or whose row differs': [
      ['test/authority/verify.test.ts', 'refuses a signed text that was never stored'],
      ['test/authority/verify.test.ts', 'refuses a signed text that differs from the stored row'],
      ['test/authority/verify.test.ts', 'refuses a token whose stored row was altered'],
    ],
    'widening by any constraint, by omission, null, empty lists, look-alikes': [
      ['src/domain/authority/narrowing-widened.test.ts', 'widenedFields() names'],
      ['src/domain/authority/narrowing.test.ts', 'narrow() compares budgets exactly'],
      ['test/authority/forest.test.ts', 'issues only subsets of the tokens above'],
    ],
    "delegating from another caller's token": [
      ['test/authority/delegate.test.ts', 'delegates only from the presented token'],
      ['test/authority/delegate.test.ts', 'the same answer for a foreign and an unknown parent'],
    ],
    'depth and fan-out without end': [
      ['test/authority/delegate.test.ts', 'ends a lineage at its depth'],
      ['test/authority/many.test.ts', 'the most a parent can have'],
    ],
    'root scopes that were not granted': [
      ['test/authority/issue.test.ts', 'issues nothing to an identity without an entitlement'],
      ['test/authority/issue.test.ts', 'grants a wildcard only where the entitlement has it'],
    ],
    'an agent that gives itself the right to approve': [
      ['test/authority/delegate.test.ts', "['an approver', { scope: ['approver:book_flight'] }"],
      ['test/authority/issue-fields.test.ts', "['of an approver', ['approver:charter_jet']"],
      ['test/approvals/second-names.test.ts', 'adds no second name to request with'],
    ],
    'an external identity that imitates another principal': [
      ['test/oidc/refusals.test.ts', 'a hostile name never becomes another class or person'],
      ['src/domain/authority/external-identity.test.ts', 'principalOfClaims() never maps'],
    ],
    'an ancestor revoked while a call of the child runs': [
      ['test/authority/verify.test.ts', 'a child ends with its ancestors'],
      ['test/store/cases/actors.ts', 'revoked'],
      ['test/compose/authority.test.ts', 'a revocation while a step runs'],
    ],
    'a capability for humans reached by delegation or composition': [
      ['test/compose/authority.test.ts', 'cannot use a capability reserved for humans'],
      ['test/invoke/order.test.ts', 'derive no class from a name that a holder chose'],
    ],
  },
  budgets: {
    'calls that race for the last unit, on any level, on several replicas': [
      ['test/invoke/races.test.ts', 'exactly the calls that a budget covers when 200 race for it'],
      ['test/invoke/races.test.ts', 'race on five levels of a lineage'],
      ['test/invoke/races.test.ts', 'two children race under one parent'],
      ['test/faults/spend.process.test.ts', 'two processes on one PostgreSQL respect a budget'],
    ],
    'amounts that are missing, no number, negative, endless or too precise': [
      ['src/domain/values/money.test.ts', 'amountFault() says'],
      ['test/authority/issue-fields.test.ts', ' by name, and issues nothing'],
      ['test/invoke/budgets.test.ts', 'when the handler reports'],
    ],
    'a forged price or age in the parameters': [
      ['test/invoke/budgets.test.ts', 'ignores a price or an age in the parameters'],
    ],
    'a binding of another caller, or for another capability': [
      ['test/invoke/budgets.test.ts', 'foreign, misdirected, mistyped and invented bindings'],
    ],
    'a crash between the reservation and the answer': [
      ['test/faults/spend.process.test.ts', 'over every kill and restart'],
      ['test/invoke/cut.test.ts', 'acts once when the database connection breaks'],
    ],
    'a retry after a lost answer': [
      ['test/faults/spend.process.test.ts', 'a call whose answer was lost after the commit'],
      ['test/invoke/idempotency.test.ts', 'replays the stored bytes'],
    ],
    'an actual cost above the reservation': [
      ['test/invoke/late-overruns.test.ts', 'owes what it reports beyond the reservation'],
    ],
  },
  approvals: {
    'parameters changed after the approval, by value or by representation': [
      ['test/approvals/again.test.ts', 'finds no grant for other parameters'],
      ['src/domain/wire/json.test.ts', 'readJson() accepts no text that JSON.parse rejects'],
      ['test/hostile/fuzz.test.ts', 'the digest that two other implementations give'],
    ],
    'a grant replayed, raced, expired, or used by another chain, session, version': [
      ['test/approvals/races.test.ts', 'as many effects as a grant has uses when many race'],
      [
        'test/approvals/chains.test.ts',
        'a grant does not exist for a token with the requester’s name',
      ],
      ['test/approvals/restarts.test.ts', 'whose declaration was changed without a new version'],
      ['test/approvals/again.test.ts', 'skips an expired grant and uses the next'],
    ],
    'two approvers at once': [
      ['test/approvals/races.test.ts', 'one grant when 32 race for a quorum of two'],
      ['test/approvals/races.test.ts', 'approved and denied concurrently has one outcome'],
    ],
    'the requester approves itself, also under a second name': [
      ['test/approvals/grants.test.ts', 'refuses the requester as approver, with any credential'],
      ['test/approvals/chains.test.ts', 'bars every principal in the requesting chain'],
      ['test/approvals/second-names.test.ts', 'gives no credential to the name of an approver'],
    ],
    'a preview that shows something else than what runs': [
      [
        'src/domain/decision/claims.test.ts',
        'the texts of the preview that parameters do not have',
      ],
      ['test/console/evidence.process.test.ts', 'when what is confirmed is not what was read'],
    ],
    'text that imitates the words of the console, or hides characters': [
      ['test/approvals/misled.test.ts', 'none begins a line like a fact of ours'],
      ['test/console/evidence.process.test.ts', 'marks for hidden and bidirectional characters'],
      ['test/approvals/cards.test.ts', 'no text of a caller becomes a link, a mention or a format'],
    ],
    'an approval that the approver was not notified of': [
      ['test/approvals/webhooks.test.ts', 'reach a receiver after it was down'],
      ['test/approvals/webhooks.test.ts', 'stop after the last attempt, and stay visible'],
    ],
  },
  log: {
    'an effect or a refusal without an entry': [
      ['test/invoke/faults.test.ts', 'runs nothing when admission fails'],
      ['test/invoke/faults.test.ts', 'answers 5xx instead of a refusal that it could not record'],
      ['test/approvals/grants.test.ts', 'records every refusal of a known caller'],
    ],
    'a tail cut off, a restored backup that continues, a second history': [
      ['test/log/withheld.test.ts', 'a restored copy of the database is withheld'],
      ['test/log/withheld.test.ts', 'whose last checkpoints are missing is not signed'],
      ['test/witness/mark.test.ts', 'refuses a restored log'],
      ['src/verify/export/export.test.ts', 'a history that was rewritten'],
    ],
    'proofs with wrong sizes': [
      ['src/domain/log/merkle-proof.test.ts', 'verifyInclusion() refuses a proof'],
      ['src/domain/log/merkle-joins.test.ts', 'a proof of another length'],
    ],
    "other people's entries through any filter": [
      ['test/approvals/unknown.test.ts', 'every other id of another root is answered'],
      ['test/http/audit-filters.test.ts', 'audit refuses the filter'],
    ],
    'secrets in an entry': [
      ['test/invoke/observability.test.ts', 'the digest of the parameters and no value by default'],
      ['test/accounts/canary.test.ts', 'neither answered, logged, streamed nor stored'],
    ],
  },
  surface: {
    'deep, wide, huge and slow bodies': [
      ['test/http/bad-input.test.ts', 'nested 100,000 deep are refused by the scan'],
      ['test/http/framing.test.ts', 'a chunked body beyond the limit is 413'],
      ['test/http/framing.test.ts', 'a hundred bodies that never arrive'],
      ['test/hostile/fuzz.test.ts', 'fuzz() finds no answer that may not be given'],
    ],
    '`__proto__` wherever a name can stand': [
      ['src/domain/wire/json.test.ts', '__proto__'],
      ['test/http/bad-input.test.ts', '__proto__ in disguise'],
      ['src/http/sign-in/forms.test.ts', 'does not mistake fields for members of objects'],
      ['test/hostile/fuzz.test.ts', 'fuzz() finds no answer that may not be given'],
    ],
    'parameters that collide with reserved names': [
      ['test/mcp/http.test.ts', 'refuses the reserved name'],
      ['test/mcp/bad-input.test.ts', 'in _meta with an error'],
    ],
    'smuggled headers, HTTP/1.0, pipelines': [
      ['test/http/framing.test.ts', 'later bytes are not read'],
      ['src/http/bounds/segment.test.ts', 'bodies, answers and their order are the same in slices'],
    ],
    'several credentials, credentials in the URL': [
      ['test/http/framing.test.ts', 'two Authorization headers are 401'],
      ['test/http/headers.test.ts', 'a credential in the query, a cookie or the body is ignored'],
      ['test/console/http.test.ts', 'a credential beside the cookie counts for nothing'],
    ],
    'line breaks in ids that are echoed, and in streams': [
      ['test/invoke/streams.test.ts', 'keeps line breaks and event syntax in a value as data'],
      ['test/hostile/surfaces.test.ts', 'no answer is cut'],
    ],
    'a client that never reads': [
      ['test/http/connections.test.ts', 'the connection is closed, and its work ends'],
      ['test/surfaces/stdio.test.ts', 'stops reading while the client does not read'],
    ],
    'a flood of bad tokens, and every other flood, beside one honest client': [
      ['test/http/rates.test.ts', 'a flood of wrong tokens does not lock out callers'],
      ['test/hostile/floods.test.ts', 'an honest client is served beside every flood at once'],
    ],
    'requests to inside addresses through any URL': [
      ['test/hostile/outgoing.test.ts', 'asks no resolver and no inside address'],
      ['test/hostile/outgoing.test.ts', 'at the moment when it leads inside'],
      ['test/oidc/hostile-issuer.test.ts', 'resolves to an internal address'],
      ['test/sign-in/attacks-clients.test.ts', 'of an address inside, or a name that leads inside'],
      ['test/approvals/webhooks.test.ts', 'not sent to an internal address'],
    ],
    'a page of another origin that drives the console': [
      ['test/console/origins.process.test.ts', 'reads no answer and causes no act by a script'],
      ['test/console/http.test.ts', 'takes no request that is not from our page'],
    ],
    'unsafe defaults on a public address': [
      ['test/http/serve.test.ts', 'refuses demo credentials on an address that others reach'],
      ['test/http/operability.test.ts', 'GET /metrics needs a credential'],
    ],
  },
  'attacks that worked once': {
    'places held by clients that do not read': [
      ['test/http/connections.test.ts', 'leave every slot free, and all are closed'],
    ],
    'honest work that takes too long': [
      ['test/http/long-queries.test.ts', 'block the event loop no longer than one'],
      ['test/http/long-queries.test.ts', 'a query stops when its client has disconnected'],
    ],
    'a name taken for an identity': [
      [
        'test/approvals/chains.test.ts',
        'an idempotency key is not readable through another lineage',
      ],
      ['test/approvals/chain-forest.test.ts', 'test('],
    ],
    'promise jobs that starve timers': [
      ['test/invoke/spinning.test.ts', 'awaits progress in a loop is ended by its deadline'],
    ],
    'a service that knows of its lost past and goes on': [
      ['test/log/recover.test.ts', 'is not ready, runs no handler and signs nothing'],
    ],
    'a mark that goes back with the store': [
      ['test/log/recover.test.ts', 'the mark detects a deleted store'],
      ['src/config/log.test.ts', 'refuses a mark in the store itself'],
    ],
    'an edited row that is believed': [
      ['test/authority/rows.test.ts', 'has no authority, nor has a descendant'],
      ['test/authority/rows-race.test.ts', 'is edited after the checks'],
    ],
    'values that throw when they are looked at': [
      ['test/invoke/hostile.test.ts', 'any value leaves one entry and holds nothing'],
    ],
    'two clocks as evidence': [
      ['src/verify/export/export.test.ts', 'clock'],
      ['test/verify/under-way.test.ts', 'proves no drop from a checkpoint'],
    ],
  },
};
