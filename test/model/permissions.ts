/**
 * Permissions as the specification states them: for each capability the first rule that a call would break, as far as
 * the token, its budgets and the catalog decide.
 *
 * @module
 */

import type { PermissionsAct } from './acts.ts';
import { leftOf } from './answers.ts';
import { comparedPrice, unauthorizedBy, unmetControl } from './calls.ts';
import { CAPABILITIES, type CapabilityName, NAMES, wireMoney } from './catalog.ts';
import { budgetsIn, deathIn, type History, type Token, tokenIn } from './history.ts';
import { refused, type Step } from './steps.ts';

export function permissionsStep({ token: label }: PermissionsAct): Step {
  return (history) => {
    const death = deathIn(history, label);
    if (death) return refused(death === 'revoked' ? 'invalid_token' : 'token_expired');
    const reasons = NAMES.map((name) => ({ name, reason: reasonFor(history, label, name) }));
    const named = (isWanted: (reason: string | undefined) => boolean) =>
      reasons
        .filter(({ reason }) => isWanted(reason))
        .map(({ name, reason = '' }) => `${name} ${reason}`);
    const budgets = budgetsIn(history, label);
    const [own] = budgets;
    const available = named((reason) => reason === undefined);
    const left = own && wireMoney({ ...own, amount: Math.min(...budgets.map(leftOf)) }).amount;
    return {
      answer: {
        available,
        restricted: named((reason) => reason !== undefined && reason !== 'non_delegable'),
        denied: named((reason) => reason === 'non_delegable'),
        remaining: available.length > 0 ? left : undefined,
      },
    };
  };
}

const REASONS: Readonly<Record<string, string>> = {
  non_delegable_action: 'non_delegable',
  principal_class_not_admitted: 'non_delegable',
  scope_insufficient: 'insufficient_scope',
  purpose_mismatch: 'stronger_delegation_required',
  delegation_depth_exceeded: 'insufficient_delegation_depth',
};

function reasonFor(history: History, label: string, name: CapabilityName): string | undefined {
  const token = tokenIn(history, label) as Token;
  const facts = CAPABILITIES[name];
  const unauthorized = unauthorizedBy(history, { token: label, capability: name }, token, facts);
  if (unauthorized) return REASONS[unauthorized];
  if (unmetControl(token, name)) {
    const isCeiling = facts.control === 'cost_ceiling';
    return isCeiling ? 'unmet_control_requirement' : 'stronger_delegation_required';
  }
  const isPending = facts.quoteMaxAge !== undefined || facts.priceOfUnit !== undefined;
  const price = facts.cost?.certainty === 'estimated' ? undefined : facts.cost;
  const known = { facts, budgets: budgetsIn(history, label) };
  const { failure } = comparedPrice(token, known, price);
  // A price that a binding or the parameters will fix does not restrict yet.
  if (failure === 'budget_not_enforceable' && isPending) return undefined;
  return failure && 'unmet_control_requirement';
}
