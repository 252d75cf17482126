/**
 * Deliberate bugs of the service: the order of its steps, what it claims, what it retries.
 *
 * @module
 */

import type { Mutant } from './mutant.ts';

const ADMISSION = 'src/service/invoke/admission.ts';
const SETTLE = 'src/service/invoke/settle.ts';
const SEAL = 'src/service/log/seal.ts';

export const SERVICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'intent-after-handler',
    mode: 'remote',
    why: 'the handler runs before the store has the intent of the call',
    found: ['intent-first'],
    edits: [
      {
        file: ADMISSION,
        replace: '  const admission = admissionOf(parts, call);\n  let result',
        by: `  const admission = admissionOf(parts, call);
  if (!call.capability.composition) yield* handled(parts, call);
  let result`,
      },
    ],
  },
  {
    name: 'lost-admission-runs',
    mode: 'remote',
    why: 'a call whose admission got no answer runs as if it was admitted',
    found: ['intent-first', 'acknowledged'],
    edits: [
      {
        file: ADMISSION,
        replace:
          '    if (error instanceof OutcomeUnknown) return lostAdmission(parts, call, admission);\n    throw error;',
        by: `    if (!(error instanceof OutcomeUnknown)) throw error;
    result = { admitted: true, budgets: [] };`,
      },
    ],
  },
  {
    name: 'lost-admission-forgotten',
    mode: 'remote',
    why: 'an admission of unknown outcome counts as one that did not happen, and is never released',
    found: ['liveness'],
    edits: [
      {
        file: ADMISSION,
        replace:
          '    if (error instanceof OutcomeUnknown) return lostAdmission(parts, call, admission);\n',
        by: '',
      },
    ],
  },
  {
    name: 'refund-on-timeout',
    mode: 'remote',
    why: 'a call that misses its deadline gets its money back while its handler still runs',
    found: ['money-back'],
    edits: [
      {
        file: 'src/service/invoke/handler.ts',
        replace:
          "      outcome: 'indeterminate',\n      failure: failure('outcome_unknown', detail),\n      reported",
        by: "      outcome: 'no_effect',\n      failure: failure('outcome_unknown', detail),\n      reported",
      },
    ],
  },
  {
    name: 'late-failure-refunded',
    mode: 'remote',
    why: 'a handler that fails after its deadline is refunded, although it acted before it failed',
    found: ['money-back'],
    edits: [
      {
        file: 'src/service/invoke/late-outcome.ts',
        replace: "  const refund = done.outcome === 'no_effect';",
        by: "  const refund = done.outcome !== 'completed';",
      },
    ],
  },
  {
    name: 'recovery-refunds',
    mode: 'remote',
    why: 'recovery closes the call of a dead process as if nothing had happened',
    found: ['money-back', 'intent-first', 'ledger-is-log', 'one-fence'],
    edits: [
      {
        file: 'src/service/invoke/recovery.ts',
        replace: "    outcome: 'indeterminate',",
        by: "    outcome: 'no_effect',",
      },
    ],
  },
  {
    name: 'recovery-closes-living-calls',
    mode: 'remote',
    why: 'recovery does not wait until a process is silent, and closes calls that run',
    found: ['living'],
    edits: [
      {
        file: 'src/service/invoke/recovery.ts',
        replace: 'new Date(store.now().getTime() - silentMs)',
        by: 'new Date(store.now().getTime())',
      },
    ],
  },
  {
    name: 'key-not-claimed',
    mode: 'remote',
    why: 'admission does not claim the idempotency key, so a repeated call acts again',
    found: ['once-per-key'],
    edits: [
      {
        file: ADMISSION,
        replace: '      idempotencyKey === undefined\n        ? undefined',
        by: '      idempotencyKey !== 0\n        ? undefined',
      },
    ],
  },
  {
    name: 'key-scoped-by-name',
    mode: 'remote',
    why: 'an idempotency key belongs to the name of the caller, which a sibling may carry too',
    found: ['chains', 'once-per-key'],
    edits: [
      {
        file: ADMISSION,
        replace: '            chain,\n            capability: capability.name,',
        by: '            chain: subject,\n            capability: capability.name,',
      },
    ],
  },
  {
    name: 'names-instead-of-chains',
    mode: 'remote',
    why: 'the digest of a requester covers only its own name, not the principals above it',
    found: ['chains'],
    edits: [
      {
        file: 'src/domain/authority/chain.ts',
        replace: '  return digestOf(chainNames(rootPrincipal, subjects));',
        by: '  return digestOf(chainNames(rootPrincipal, subjects).slice(-1));',
      },
    ],
  },
  {
    name: 'cached-revocation',
    mode: 'remote',
    why: 'a replica remembers the lineage of a token, so reads go on after a revocation',
    found: ['revoked'],
    edits: [
      {
        file: 'src/service/rows/sealing.ts',
        replace: `(next, sealing) => (request) =>
  next(request).then((loaded) => authentic(loaded, sealing));`,
        by: `(next, sealing) => {
  const seen = new Map();
  return (request) =>
    next(request).then((loaded) => {
      const lineage = seen.get(request.tokenId) ?? loaded.lineage;
      seen.set(request.tokenId, lineage);
      return authentic({ ...loaded, lineage }, sealing);
    });
};`,
      },
    ],
  },
  {
    name: 'answered-before-settled',
    mode: 'remote',
    why: 'the caller gets the result before the store has the outcome',
    found: ['acknowledged'],
    edits: [
      {
        file: ADMISSION,
        replace: '  const outcome = yield* wait(settling);',
        by: "  const outcome = settling && 'settled';",
      },
    ],
  },
  {
    name: 'settlement-not-retried',
    mode: 'remote',
    why: 'an outcome that the store did not take is dropped',
    found: ['liveness'],
    edits: [
      {
        file: SETTLE,
        replace: "      if (settled === 'unknown') void tryAgain(recording, settlement, later);\n",
        by: '',
      },
    ],
  },
  {
    name: 'append-skipped-on-retry',
    mode: 'remote',
    why: 'a call that was never admitted, as its release finds, gets no entry',
    found: ['acknowledged'],
    edits: [
      {
        file: SETTLE,
        replace: "      await store.append([entry], [], undefined, true);\n      return 'settled';",
        by: "      return 'settled';",
      },
    ],
  },
  {
    name: 'repeat-appended-again',
    mode: 'remote',
    why: 'a late end whose first attempt may have succeeded is appended without a look for its entry',
    found: ['log-contiguous', 'logged-once'],
    edits: [
      {
        file: SETTLE,
        replace: '        return await change(wait > RETRY_FIRST_MS);',
        by: '        return await change(false);',
      },
    ],
  },
  {
    name: 'refusal-without-entry',
    mode: 'remote',
    why: 'a refusal names an entry that was never appended',
    found: ['acknowledged'],
    edits: [
      {
        file: SETTLE,
        replace: `  try {
    await parts.store.append([entry]);
  } catch (error) {
    return unrecordedCall(parts, call, failureOf('invoke', error, parts.log));
  }`,
        by: '',
      },
    ],
  },
  {
    name: 'compensation-skipped',
    mode: 'remote',
    why: 'a composed call that fails leaves its completed steps standing',
    found: ['compensated'],
    edits: [
      {
        file: 'src/service/compose/compose.ts',
        replace:
          "  if (composition.failure_policy === 'compensate') await compensate(parts, whole);\n",
        by: '',
      },
    ],
  },
  {
    name: 'compensation-repeated',
    mode: 'remote',
    why: 'a process that adopts a composed call begins compensations that have begun before',
    found: ['step-once', 'liveness'],
    edits: [
      {
        file: 'src/domain/composition/compensation.ts',
        replace: 'return isDone && compensation && !begun.has(undone.step_id) ?',
        by: 'return isDone && compensation ?',
      },
    ],
  },
  {
    name: 'interrupted-step-completed',
    mode: 'remote',
    why: 'a step whose process died counts as one that did nothing',
    found: ['money-back', 'compensated'],
    edits: [
      {
        file: 'src/service/compose/resume.ts',
        replace: "    outcome: readOnly ? 'no_effect' : 'indeterminate',",
        by: "    outcome: 'no_effect',",
      },
    ],
  },
  {
    name: 'delivered-before-sent',
    mode: 'remote',
    why: 'a notice counts as delivered before its receiver answers',
    found: ['notices'],
    edits: [
      {
        file: 'src/service/approval/webhooks.ts',
        replace:
          '  const target = parts.config.webhooks.find(({ name }) => name === delivery.target);\n',
        by: `  const target = parts.config.webhooks.find(({ name }) => name === delivery.target);
  await parts.store.finishDelivery(resultOf(parts.store.now(), delivery, undefined));
`,
      },
    ],
  },
  {
    name: 'notice-given-up',
    mode: 'remote',
    why: 'a notice that its receiver refuses once is never sent again',
    found: ['notices'],
    edits: [
      {
        file: 'src/service/approval/webhooks.ts',
        replace: '  const wait = BACKOFF_SECONDS[attempts];',
        by: '  const wait = BACKOFF_SECONDS[attempts + 99];',
      },
    ],
  },
  {
    name: 'freeze-not-stored',
    mode: 'remote',
    why: 'an operator gets the answer that a capability is frozen, and the store does not have the freeze',
    found: ['acknowledged'],
    edits: [
      {
        file: 'src/service/authority/freeze.ts',
        replace: '    acted(await parts.store.freeze(record, entry, actorOf(caller)));',
        by: '    await parts.store.append([entry]);',
      },
    ],
  },
  {
    name: 'sign-before-the-mark',
    mode: 'remote',
    why: 'a checkpoint is stored and shown before the mark outside of the store has it',
    found: ['checkpoints'],
    edits: [
      {
        file: SEAL,
        replace: `  if (mark && !(await mark.advance(origin.logId, from, next))) return undefined;
  return storeNext(parts, next, seen);`,
        by: `  const sealed = await storeNext(parts, next, seen);
  if (mark && !(await mark.advance(origin.logId, from, next))) return undefined;
  return sealed;`,
      },
    ],
  },
  {
    name: 'checkpoint-of-an-uncommitted-size',
    mode: 'remote',
    why: 'a checkpoint counts an entry that is not in the tree yet',
    found: ['checkpoints'],
    edits: [
      {
        file: SEAL,
        replace: '    size,\n    root,\n    // Tree and sequence',
        by: '    size: size + 1,\n    root,\n    // Tree and sequence',
      },
    ],
  },
  {
    name: 'marked-checkpoint-dropped',
    mode: 'remote',
    why: 'after a crash the sealer signs the number that the mark has a second time',
    found: ['checkpoints', 'liveness'],
    edits: [
      {
        file: SEAL,
        replace: `  if (marked && marked.sequence > (last?.sequence ?? origin.first))
    return storeMarked(parts, marked);
`,
        by: '',
      },
    ],
  },
];
