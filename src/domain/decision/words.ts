/**
 * A request in words: the question that the approver answers, and which amounts it is about.
 *
 * The words come from the declaration, the cost and the policy. A value of the agent stands in them only as an exact
 * value, and only where the declaration says that the service looked it up.
 *
 * @module
 */

import type { Decision } from '../../protocol/decision.ts';
import type { Money } from '../../protocol/primitives.ts';
import { effectOf, titleOf } from '../sign-in/consent-words.ts';
import { moneyInputs } from './claims.ts';
import { marked, type Piece, type Words } from './pieces.ts';

/** "Issue refund: 250.00 USD, booking id BK-1000?" */
export function questionOf(of: Decision): Words {
  const asked = amountOf(of);
  const amount: Words = asked
    ? [`: ${asked.isMost ? 'at most ' : ''}`, { money: asked.amount }]
    : [];
  return [
    titleOf(of.request.capability),
    ...amount,
    ...entitiesOf(of).flatMap(({ name, text }): Piece[] => [
      `, ${titleOf(name).toLowerCase()} `,
      marked('code', [{ shown: text }]),
    ]),
    '?',
  ];
}

/** What the approver calls the act: "this issue refund" reads badly, so the name is quoted. */
export function actOf({ request }: Pick<Decision, 'request'>): string {
  return `“${titleOf(request.capability)}”`;
}

interface AmountAsked {
  readonly amount: Money;
  /** The call may cost less. */
  readonly isMost: boolean;
}

/** The amount that the policy looks at, otherwise what the call may cost. */
function amountOf({ request, capability, cost }: Decision): AmountAsked | undefined {
  for (const [name, currency] of moneyInputs(capability, request.parameters)) {
    const amount = request.parameters[name];
    if (typeof amount === 'number') return { amount: { amount, currency }, isMost: false };
  }
  if (!cost || cost.amount === 0) return undefined;
  return { amount: cost, isMost: capability?.cost?.certainty !== 'fixed' };
}

/** In characters: a longer one is not in the heading. The list of parameters has all. */
const ENTITY_LENGTH_MAX = 40;

/** Parameters that name something which the service looked up. */
function entitiesOf({ request, capability }: Decision) {
  const inputs = capability?.inputs ?? [];
  return inputs
    .filter(({ entity_reference, catalog_ref, semantic_type, resolution }) =>
      Boolean(
        entity_reference || catalog_ref || resolution || semantic_type === 'entity_reference',
      ),
    )
    .map(({ name }) => ({ name, text: request.parameters[name] }))
    .filter((each): each is { name: string; text: string } => isShort(each.text));
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= ENTITY_LENGTH_MAX;
}

/** What happens to the world, in a sentence. */
export function effectSentence({ capability, cost }: Decision): string {
  if (!capability) return 'The service no longer has this capability.';
  const { kind, words } = effectOf(capability);
  const money =
    cost && cost.amount > 0 ? `${kind === 'final' ? 'Money leaves. ' : 'It costs money. '}` : '';
  return `${money}${kind === 'final' ? 'It cannot be undone.' : `${words}.`}`;
}

/** How the call can be undone, and until when. */
export function undoSentence({ capability }: Decision): string {
  if (!capability) return 'Not known.';
  const { type, compensation } = capability.side_effect;
  if (type === 'read') return 'Nothing changes.';
  const by = compensation === undefined ? '' : ` by “${titleOf(compensation)}”`;
  if (type === 'transactional') return `${effectOf(capability).words}${by}, counted from the call.`;
  if (compensation !== undefined) return `The effect is permanent; it can be balanced${by}.`;
  return type === 'irreversible' ? 'Not possible.' : 'The service declares no way to undo it.';
}
