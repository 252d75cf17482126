/**
 * A request in words: the question that the approver answers, and which amounts it is about.
 *
 * The words come from the declaration, the cost and the policy. A value of the agent stands in them only as a value:
 * bounded, with its hidden characters marked, and in quotes unless it is one word.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { Decision } from '../../protocol/decision.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { titleParts } from '../catalog/title.ts';
import { effectOf, titleOf } from '../sign-in/consent-words.ts';
import { moneyInputs } from './claims.ts';
import { marked, type Piece, type Words } from './pieces.ts';
import { moneyValue, numberWords } from './values.ts';

/** What the words of a call are made of. */
interface CallAsked {
  readonly name: string;
  /** Null where the service no longer has it. */
  readonly capability: Capability | null;
  readonly parameters: JsonObject;
  readonly cost: Money | null;
}

/** "Refund 250.00 USD to C-7?" */
export function questionWords({ request, capability, cost }: Decision): Words {
  const { capability: name, parameters } = request;
  return [...titleOfCall({ name, capability, parameters, cost }), '?'];
}

/**
 * The title that the author wrote, with the values of the call; without one "Issue refund: 250.00 USD, booking id
 * BK-1000". The amount stands in both.
 */
export function titleOfCall(of: CallAsked): Words {
  const { name, capability, parameters } = of;
  if (capability?.title === undefined) {
    const entities = entitiesOf(of).flatMap((input): Piece[] => [
      `, ${titleOf(input).toLowerCase()} `,
      valuePiece(parameters[input], undefined),
    ]);
    return [titleOf(name), ...amountWords(of), ...entities];
  }
  const money = moneyInputs(capability, parameters);
  const words = titleParts(capability.title).map((part): Piece => {
    if (typeof part === 'string') return part;
    const value = Object.hasOwn(parameters, part.input) ? parameters[part.input] : undefined;
    return valuePiece(value, money.get(part.input));
  });
  const hasAmount = words.some((piece) => typeof piece === 'object' && 'money' in piece);
  return hasAmount ? words : [...words, ...amountWords(of)];
}

function amountWords(of: CallAsked): Words {
  const asked = amountOf(of);
  return asked ? [`: ${asked.isMost ? 'at most ' : ''}`, { money: asked.amount }] : [];
}

/** In characters: what is longer is cut here. The list of parameters has all. */
const VALUE_LENGTH_MAX = 40;

/** One word, which cannot pass for words of the service. */
const WORD = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._@:+/#-]*$/u;

/** A value of the agent in a line of the service. */
function valuePiece(value: unknown, currency: string | undefined): Piece {
  if (value === undefined || value === null) return '(none)';
  const money = moneyValue(value, currency);
  if (money) return { money };
  if (typeof value === 'number') return numberWords(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'string') return Array.isArray(value) ? '(a list)' : '(an object)';
  const characters = [...value.slice(0, 2 * VALUE_LENGTH_MAX + 2)];
  const isCut = characters.length > VALUE_LENGTH_MAX;
  const text = characters.slice(0, VALUE_LENGTH_MAX).join('');
  const shown = WORD.test(text) ? text : JSON.stringify(text);
  return marked('code', [{ shown }, ...(isCut ? ['…'] : [])]);
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
function amountOf({ capability, parameters, cost }: CallAsked): AmountAsked | undefined {
  for (const [name, currency] of moneyInputs(capability, parameters)) {
    const amount = parameters[name];
    if (typeof amount === 'number') return { amount: { amount, currency }, isMost: false };
  }
  if (!cost || cost.amount === 0) return undefined;
  // The cost of an estimated call is its price: a quote, or what its price function returned.
  return { amount: cost, isMost: capability?.cost?.certainty === 'dynamic' };
}

/** The names of parameters that identify something: the declaration or the name of the input says so. */
function entitiesOf({ capability, parameters }: CallAsked): string[] {
  return (capability?.inputs ?? [])
    .filter(({ name, entity_reference, catalog_ref, semantic_type, resolution }) =>
      Boolean(
        entity_reference ||
          catalog_ref ||
          resolution ||
          semantic_type === 'entity_reference' ||
          /(?:^|_)id$/.test(name),
      ),
    )
    .map(({ name }) => name)
    .filter((name) => isShort(parameters[name]));
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && [...value].length <= VALUE_LENGTH_MAX;
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
