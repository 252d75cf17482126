/**
 * Weaknesses of the log as data: each takes one rule away from a real service.
 *
 * @module
 */

import { ALICE, OPERATOR } from '../support/world.ts';
import { answerWith, bearerOf, jsonOf, type Weakness, withBearer, withJson } from './weak-proxy.ts';

const TRAIL = [
  'log.entry-of-a-call',
  'log.entry-of-a-refusal',
  'log.forged-fields',
  'log.stranger',
];

export const LOG_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'everyone reads the whole log',
    breaks: ['log.foreign-entries', 'log.filter-tricks'],
    beside: TRAIL,
    request: (passed) =>
      passed.path.startsWith('/svc/audit') && bearerOf(passed).startsWith('ey')
        ? withBearer(passed, OPERATOR)
        : passed,
  },
  {
    name: 'refusals leave no entry',
    breaks: ['log.entry-of-a-refusal'],
    beside: TRAIL,
    answer: (answered, { path }) => {
      if (!path.startsWith('/svc/audit') || answered.status !== 200) return answered;
      const json = jsonOf(answered.body);
      return withJson(answered, {
        ...json,
        entries: json.entries.filter(({ success }: { success: boolean }) => success),
      });
    },
  },
  {
    name: 'calls leave no entry',
    breaks: ['log.entry-of-a-call'],
    beside: ['log.entry-of-a-refusal', 'log.stranger'],
    answer: (answered, { path }) => {
      if (!path.startsWith('/svc/audit') || answered.status !== 200) return answered;
      const json = jsonOf(answered.body);
      return withJson(answered, {
        ...json,
        entries: json.entries.filter(({ success }: { success: boolean }) => !success),
      });
    },
  },
  {
    name: 'a checkpoint was edited',
    breaks: ['log.checkpoint-signature', 'log.one-history'],
    beside: ['log.checkpoint-order'],
    answer: (answered, { path }) => {
      if (!path.startsWith('/svc/checkpoints?')) return answered;
      const { checkpoints } = jsonOf(answered.body);
      const [newest, ...rest] = checkpoints;
      return withJson(answered, {
        checkpoints: [{ ...newest, merkle_root: `sha256:${'0'.repeat(64)}` }, ...rest],
      });
    },
  },
  {
    name: 'everyone reads every token',
    breaks: ['log.foreign-token'],
    beside: ['log.stranger'],
    request: (passed) =>
      /^\/svc\/tokens\/tok_/.test(passed.path) ? withBearer(passed, ALICE) : passed,
  },
  {
    name: 'the body of a call writes its entry',
    breaks: ['log.forged-fields'],
    beside: ['log.stranger'],
    answer: (answered, { path }) => {
      if (!path.startsWith('/svc/audit') || answered.status !== 200) return answered;
      const json = jsonOf(answered.body);
      const entries = json.entries.map((entry: object) => ({
        ...entry,
        actor_key: 'human:writ-attack',
      }));
      return withJson(answered, { ...json, entries });
    },
  },
  {
    name: 'entries have the token of the call',
    breaks: ['log.secrets'],
    beside: ['log.entry-of-a-call'],
    answer: (answered, passed) => {
      if (!passed.path.startsWith('/svc/audit') || answered.status !== 200) return answered;
      const json = jsonOf(answered.body);
      return withJson(answered, { ...json, note: bearerOf(passed) });
    },
  },
  {
    name: 'the log can be deleted',
    withEffects: true,
    breaks: ['log.rewriting'],
    beside: ['log.stranger'],
    request: (passed) =>
      passed.method === 'DELETE' && passed.path.startsWith('/svc/audit')
        ? answerWith(200, {})
        : passed,
  },
  {
    name: 'two checkpoints have one number',
    breaks: ['log.checkpoint-order'],
    beside: ['log.stranger'],
    answer: (answered, { path }) => {
      if (!path.startsWith('/svc/checkpoints?')) return answered;
      const { checkpoints } = jsonOf(answered.body);
      return withJson(answered, { checkpoints: [checkpoints[0], ...checkpoints] });
    },
  },
  {
    name: 'the proof of growth is of another tree',
    breaks: ['log.growth'],
    beside: ['log.checkpoint-order'],
    answer: (answered, { path }) => {
      const json = jsonOf(answered.body);
      if (!path.includes('consistency_from') || !json.consistency_proof) return answered;
      const consistency_proof = { ...json.consistency_proof, hashes: ['0'.repeat(64)] };
      return withJson(answered, { ...json, consistency_proof });
    },
  },
  {
    name: 'every name is a checkpoint',
    breaks: ['log.checkpoint-ids'],
    beside: ['log.checkpoint-order'],
    request: (passed) =>
      passed.path === '/svc/checkpoints/__proto__' ? answerWith(200, {}) : passed,
  },
  {
    name: 'every place has a proof',
    breaks: ['log.proof-sizes'],
    beside: ['log.checkpoint-order'],
    answer: (answered, { path }) =>
      path.includes('leaf_index=-1') ? answerWith(200, { inclusion_proof: {} }) : answered,
  },
  {
    name: 'everyone gets the proof of every invocation',
    breaks: ['log.foreign-proof'],
    beside: ['log.checkpoint-order'],
    request: (passed, { kept }) => {
      if (!passed.path.includes('include_proof=true&invocation_id=')) return passed;
      const owner = (kept.get('owner') as string | undefined) ?? bearerOf(passed);
      kept.set('owner', owner);
      return withBearer(passed, owner);
    },
  },
];
