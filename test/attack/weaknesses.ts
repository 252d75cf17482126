/**
 * Weaknesses as data: each takes one rule away from a real service, and names the cases that must notice.
 *
 * @module
 */

import { ALICE, BOB, OPERATOR } from '../world.ts';
import {
  answerWith,
  bearerOf,
  childRequest,
  jsonOf,
  partOf,
  type Weakness,
  withBearer,
  withJson,
} from './weak-proxy.ts';
import { TOKEN_WEAKNESSES } from './weak-tokens.ts';

const TRAIL = [
  'log.entry-of-a-call',
  'log.entry-of-a-refusal',
  'log.forged-fields',
  'log.stranger',
];

export const WEAKNESSES: readonly Weakness[] = [
  ...TOKEN_WEAKNESSES,
  {
    name: 'a child has every budget it asks for',
    breaks: ['budgets.higher-child', 'budgets.second-budget'],
    beside: ['budgets.strange-amounts'],
    request: (passed) => {
      const child = childRequest(passed);
      const isHigher = child?.budget?.currency === 'USD' && child.budget.max_amount > 10;
      return isHigher ? withJson(passed, { ...child, budget: undefined }) : passed;
    },
    answer: (answered, passed) => {
      const { budget } = childRequest(passed) ?? {};
      if (!(budget?.max_amount > 10) || answered.status !== 200) return answered;
      return withJson(answered, { ...jsonOf(answered.body), budget });
    },
  },
  {
    name: 'a budget that cannot be read is dropped',
    breaks: ['budgets.strange-amounts'],
    beside: ['budgets.higher-child', 'budgets.child-currency'],
    request: (passed) => {
      const json = jsonOf(passed.body);
      if (passed.path !== '/svc/tokens' || json.budget === undefined || json.parent_token)
        return passed;
      return typeof json.budget.max_amount === 'number'
        ? passed
        : withJson(passed, { ...json, budget: undefined });
    },
  },
  {
    name: 'budgets are not enforced',
    withEffects: true,
    breaks: [
      'budgets.exceeded',
      'budgets.other-currency',
      'budgets.forged-price',
      'budgets.race',
      'budgets.siblings',
    ],
    request: (passed) => {
      const json = jsonOf(passed.body);
      return passed.path === '/svc/tokens'
        ? withJson(passed, { ...json, budget: undefined })
        : passed;
    },
  },
  {
    name: 'siblings do not share the budget of their parent',
    withEffects: true,
    breaks: ['budgets.siblings'],
    beside: ['budgets.exceeded', 'budgets.race'],
    request: (passed) => {
      const child = childRequest(passed);
      if (!child) return passed;
      const { parent_token: _, ...rest } = child;
      const budget = partOf(bearerOf(passed), 1).constraints?.budget;
      return withBearer(withJson(passed, { ...rest, budget }), ALICE);
    },
  },
  {
    name: 'the requester approves its own request',
    withEffects: true,
    breaks: ['approvals.by-requester'],
    beside: ['approvals.without-grant'],
    request: (passed) =>
      passed.path === '/svc/approval_grants' ? withBearer(passed, BOB) : passed,
  },
  {
    name: 'a grant is used again',
    withEffects: true,
    breaks: ['approvals.used-twice'],
    beside: ['approvals.two-grants'],
    request: (passed, { kept }) => {
      const before = kept.get(jsonOf(passed.body).approval_grant);
      return before === undefined ? passed : answerWith(200, before);
    },
    answer: (answered, passed, { kept }) => {
      const { approval_grant } = jsonOf(passed.body);
      const json = jsonOf(answered.body);
      if (approval_grant !== undefined && json.success === true) kept.set(approval_grant, json);
      return answered;
    },
  },
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
    name: 'a token in the address is accepted',
    breaks: ['surface.credential-elsewhere'],
    beside: ['surface.no-credential', 'surface.other-schemes'],
    request: (passed) => {
      const token = new URLSearchParams(passed.path.split('?')[1] ?? '').get('access_token');
      return token === null
        ? passed
        : withBearer({ ...passed, path: passed.path.split('?')[0] ?? '' }, token);
    },
  },
  {
    name: 'the first of two credentials counts',
    breaks: ['surface.two-credentials'],
    beside: ['surface.credential-elsewhere', 'surface.other-schemes'],
    request: (passed) => {
      const lines = passed.headers.filter((each) => each.toLowerCase() === 'authorization');
      return lines.length > 1 ? withBearer(passed, bearerOf(passed)) : passed;
    },
  },
  {
    name: 'an operation needs no credential',
    breaks: ['surface.no-credential', 'log.stranger'],
    beside: ['surface.credential-elsewhere'],
    request: (passed) => {
      const isOpen =
        passed.path === '/svc/audit' && passed.method === 'POST' && bearerOf(passed) === '';
      return isOpen ? withBearer(passed, OPERATOR) : passed;
    },
  },
  {
    name: 'long ids are cut',
    breaks: ['surface.long-ids'],
    beside: ['surface.wrong-types'],
    request: (passed) => {
      const json = jsonOf(passed.body);
      if (typeof json.client_reference_id !== 'string') return passed;
      return withJson(passed, {
        ...json,
        client_reference_id: json.client_reference_id.slice(0, 256),
      });
    },
  },
  {
    name: 'every origin may send credentials',
    breaks: ['surface.other-origin'],
    beside: ['surface.host-header'],
    answer: (answered, { headers }) => {
      const origin = headers[headers.findIndex((name) => name.toLowerCase() === 'origin') + 1];
      const open = {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
      };
      return { ...answered, headers: { ...answered.headers, ...open } };
    },
  },
  {
    name: 'an unknown capability is a defect with a stack trace',
    breaks: ['surface.failure-form', 'surface.defects', 'surface.insides'],
    beside: ['surface.echoed-secrets', 'surface.inherited-names'],
    request: (passed) =>
      passed.path === '/svc/invoke/writ-attack'
        ? answerWith(500, {
            error:
              'TypeError: x is undefined\n    at run (/usr/app/node_modules/service/run.js:10:3)',
          })
        : passed,
  },
  {
    name: 'a refusal repeats the credential',
    breaks: ['surface.echoed-secrets'],
    beside: ['surface.failure-form', 'surface.defects', 'surface.insides'],
    answer: (answered, passed) =>
      answered.status < 400
        ? answered
        : withJson(answered, { ...jsonOf(answered.body), bearer: bearerOf(passed) }),
  },
  {
    name: 'a deep body ends the service',
    breaks: ['surface.deep-bodies'],
    request: (passed, { stop }) => {
      if (passed.body.length > 50_000) stop();
      return passed;
    },
  },
  {
    name: 'strangers lock callers out',
    breaks: ['surface.bad-token-flood'],
    beside: ['surface.slow-clients'],
    request: (passed, { kept }) => {
      const bad = Number(kept.get('bad') ?? 0) + (bearerOf(passed).endsWith('AAAAAAAA') ? 1 : 0);
      kept.set('bad', bad);
      return bad > 60 && bad < 115 ? answerWith(403, { success: false }) : passed;
    },
  },
  {
    name: 'a body ends in two places',
    lenientParser: true,
    breaks: ['surface.smuggling'],
    beside: ['surface.no-credential'],
  },
];
