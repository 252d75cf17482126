/**
 * Weaknesses of budgets and approvals as data: each takes one rule away from a real service.
 *
 * @module
 */

import { ALICE, BOB } from '../support/world.ts';
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

export const MONEY_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'a child has every budget it asks for',
    breaks: [
      'budgets.higher-child',
      'budgets.child-currency',
      'budgets.strange-child-amounts',
      'budgets.second-budget',
    ],
    beside: ['budgets.strange-amounts'],
    request: (passed) => {
      const child = childRequest(passed);
      return child?.budget ? withJson(passed, { ...child, budget: undefined }) : passed;
    },
    answer: (answered, passed) => {
      const { budget } = childRequest(passed) ?? {};
      if (!budget || answered.status !== 200) return answered;
      const asked = { currency: budget.currency, max_amount: Number(budget.max_amount) };
      return withJson(answered, { ...jsonOf(answered.body), budget: asked });
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
    name: 'everyone gets a grant, on every term',
    withEffects: true,
    breaks: [
      'approvals.stranger',
      'approvals.made-up-request',
      'approvals.by-requester',
      'approvals.beyond-policy',
      'approvals.two-grants',
    ],
    beside: ['approvals.without-grant', 'approvals.approver-scope'],
    request: (passed, { kept }) => {
      if (passed.path !== '/svc/approval_grants') return passed;
      const grants = Number(kept.get('grants') ?? 0) + 1;
      kept.set('grants', grants);
      return answerWith(200, { grant_id: `gnt_${grants}`, max_uses: 9_999 });
    },
  },
  {
    name: 'a grant lives as long as its approver asks for',
    withEffects: true,
    breaks: ['approvals.beyond-policy'],
    beside: ['approvals.stranger'],
    answer: (answered, { path, body }) => {
      const { expires_in_seconds: seconds } = jsonOf(body);
      if (path !== '/svc/approval_grants' || seconds === undefined) return answered;
      const expires_at = new Date(Date.now() + seconds * 1_000).toISOString();
      return answerWith(200, {
        grant_id: 'gnt_1',
        grant_type: 'one_time',
        max_uses: 1,
        expires_at,
      });
    },
  },
  {
    name: 'nothing needs approval',
    withEffects: true,
    breaks: ['approvals.without-grant'],
    beside: ['approvals.stranger'],
    request: (passed) =>
      passed.path === '/svc/invoke/charter_jet'
        ? answerWith(200, { success: true, invocation_id: 'inv-000000000000', result: {} })
        : passed,
  },
  {
    name: 'a grant covers other parameters',
    withEffects: true,
    breaks: ['approvals.changed-call'],
    beside: ['approvals.used-twice'],
    request: (passed) => {
      const { approval_grant, parameters } = jsonOf(passed.body);
      const isChanged = /-changed$/.test(parameters?.route ?? '') && approval_grant !== undefined;
      return isChanged ? answerWith(200, { success: true, result: {} }) : passed;
    },
  },
  {
    name: 'everyone lists approval requests',
    breaks: ['approvals.foreign-requests'],
    beside: ['approvals.stranger'],
    request: (passed) =>
      passed.path === '/svc/approval_requests'
        ? answerWith(200, { approval_requests: [{ requester: { root_principal: 'human:ann' } }] })
        : passed,
  },
];
