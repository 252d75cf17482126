/**
 * The service of a guard: each tool that the policy names and a person reviewed becomes a capability.
 *
 * A capability is declared from the reviewed tool, never from the live one. A tool that is new, changed, gone or
 * unusable is off, with a sentence that says why, and does not stop the others.
 *
 * @module
 */

import { faultText } from '../domain/catalog/fault.ts';
import { misfits } from '../domain/conditions/fits.ts';
import { type Rule, regionsOf } from '../domain/conditions/words.ts';
import { formatDuration } from '../domain/values/duration.ts';
import { digestOf } from '../domain/wire/canonical.ts';
import { readForeignObject } from '../domain/wire/foreign.ts';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { PREVIEW_LIMITS } from '../service/approval/request.ts';
import type { AccountOptions } from '../service/author/accounts.ts';
import {
  type ApprovalPolicy,
  type DefinedCapability,
  defineCapability,
} from '../service/author/define.ts';
import { createService, DefinitionError, type Service } from '../service/author/definition.ts';
import { type HandlerContext, HandlerFailure, NoEffect } from '../service/author/handler.ts';
import type { ReviewPort } from '../service/author/review.ts';
import { UPSTREAM_FAILED } from '../service/http-api/http-answer.ts';
import { type CallCost, callCost } from './cost.ts';
import { type ToolInputs, type ToolOutput, toolInputs, toolOutput } from './declared.ts';
import { type Pins, reviewedTool } from './pins.ts';
import type { GuardPolicy } from './policy/read.ts';
import type { ToolApproval } from './policy/rule-schema.ts';
import type { ToolPolicy } from './policy/schema.ts';
import { DEADLINE_MAX_MS, deadlineMsOf } from './policy/upstream-schema.ts';
import type { SchemaIssue } from './schema-check.ts';
import { shownLine, shownText } from './text.ts';
import { toolDigest, type Upstream, type UpstreamTool } from './upstream.ts';

/** Characters of a description. Agents read all of them. */
const DESCRIPTION_LENGTH_MAX = 8_192;

/** Characters of a sentence that says why a tool is off, and of a name in it. */
const SENTENCE_LENGTH_MAX = 290;
const NAME_LENGTH_MAX = 64;

export interface GuardOptions {
  readonly policy: GuardPolicy;
  readonly pins: Pins;
  /** The tools as the upstream lists them now. */
  readonly live: readonly UpstreamTool[];
  readonly upstream: Pick<Upstream, 'call'>;
  /** Where people log in to the upstream, with the secret of the client. Needed where the policy has an account. */
  readonly account?: AccountOptions | undefined;
  /** Lets operators review changed tools in the console. */
  readonly review?: ReviewPort | undefined;
  /** Whether the upstream still lists exactly this tool. */
  isCurrent(tool: UpstreamTool): boolean;
}

export interface GuardDefinition {
  readonly service: Service;
  /** Why a tool of the policy is off, by the name of the capability. */
  readonly off: ReadonlyMap<string, string>;
}

export function guardService(given: GuardOptions): GuardDefinition {
  const capabilities: DefinedCapability[] = [];
  const off = new Map<string, string>();
  for (const [name, policy] of given.policy.tools) {
    const made = guardedCapability(given, name, policy);
    if ('off' in made) off.set(name, shownLine(made.off, SENTENCE_LENGTH_MAX));
    else capabilities.push(made);
  }
  const { policy, account, review } = given;
  const service = createService({
    id: policy.guard,
    capabilities,
    off: Object.fromEntries(off),
    ...(account && { accounts: { [ACCOUNT]: account } }),
    ...(review && { review }),
  });
  return { service, off };
}

/** The name under which the service keeps the accounts of people at the upstream. */
const ACCOUNT = 'upstream';

type Made = DefinedCapability | { readonly off: string };

function guardedCapability(given: GuardOptions, name: string, policy: ToolPolicy): Made {
  const listed = given.live.filter((each) => each.name === policy.tool);
  const why = unusable(given, name, policy, listed);
  if (why !== undefined) return { off: why };
  const tool = reviewedTool(given.pins, listed[0] as UpstreamTool) as UpstreamTool;
  const inputs = toolInputs(tool);
  if ('fault' in inputs) return { off: inputs.fault };
  const output = toolOutput(tool);
  const [fault] = fieldFaults(policy, inputs, output.fields);
  if (fault) {
    const { line } = given.policy.positionOf(['tools', name, ...fault.path]);
    return { off: `line ${line} of the policy: ${fault.path.join('.')} ${fault.why}` };
  }
  const reviewed = { policy, tool, inputs, output, cost: callCost(policy.cost) };
  return sound(definedCapability(given, name, reviewed));
}

/** Why a tool may not be offered, before its schemas are looked at. */
function unusable(
  { policy: { upstream, positionOf }, pins, account }: GuardOptions,
  name: string,
  { tool, effect, review }: ToolPolicy,
  listed: readonly UpstreamTool[],
): string | undefined {
  const called = `the tool "${shownLine(tool, NAME_LENGTH_MAX)}"`;
  const [live, second] = listed;
  if (live === undefined) return `the upstream has no longer ${called}`;
  if (second !== undefined) return `the upstream lists ${called} twice`;
  if (!pins.tools.has(tool)) return `${called} is new and needs a review`;
  if (!reviewedTool(pins, live)) return `${called} changed since its review and needs a new one`;
  if (review && effect !== 'read') {
    const { line } = positionOf(['tools', name, 'review']);
    return `line ${line} of the policy still has "review": check the effect, then delete it`;
  }
  if (upstream.account === undefined || account !== undefined) return undefined;
  return 'it needs the account of a person, and this service keeps none';
}

interface FieldFault {
  readonly path: readonly (string | number)[];
  readonly why: string;
}

/** Fields that the policy names and the reviewed tool lacks. */
function fieldFaults(
  { cost, approval, refuse, log }: ToolPolicy,
  { inputs, schema }: ToolInputs,
  answered: readonly string[],
): FieldFault[] {
  const types = new Map(inputs.map(({ name, type }) => [name, type]));
  const field = cost !== undefined && 'field' in cost ? cost.field.split('.') : [];
  const [costField, inner] = field;
  const isNumber = (type: string | undefined) => type === 'number' || type === 'integer';
  const costType = types.get(costField ?? '');
  const declared = { inputs, schema, cost: callCost(cost).declared };
  const isPriced = inner === undefined ? isNumber(costType) : costType !== undefined;
  return [
    ...(costField !== undefined && !isPriced
      ? [{ path: ['cost', 'field'], why: 'is no number among the inputs of the tool' }]
      : []),
    ...ruleFaults('approval', approval?.when, declared),
    ...ruleFaults('refuse', refuse, declared),
    ...log.flatMap((name, index) =>
      types.has(name) || answered.includes(name)
        ? []
        : [{ path: ['log', index], why: 'is neither an input nor a field of the answer' }],
    ),
  ];
}

/** Conditions that the tool, as it was reviewed, cannot meet or cannot have. */
function ruleFaults(
  at: 'approval' | 'refuse',
  rule: 'always' | Rule | undefined,
  {
    inputs,
    schema,
    cost,
  }: Pick<ToolInputs, 'inputs' | 'schema'> & Pick<CapabilityDeclaration, 'cost'>,
): FieldFault[] {
  if (rule === undefined || rule === 'always') return [];
  const regions = regionsOf(rule);
  return regions.flatMap((region, index) =>
    misfits(region, { inputs, input_schema: schema, ...(cost && { cost }) }).map(
      ({ path, fault, write }) => ({
        path: [at, ...Object.keys(rule), ...(regions.length > 1 ? [index] : []), path],
        why: `cannot be used: ${fault}; write ${write}`,
      }),
    ),
  );
}

interface Reviewed {
  readonly policy: ToolPolicy;
  readonly tool: UpstreamTool;
  readonly inputs: ToolInputs;
  readonly output: ToolOutput;
  readonly cost: CallCost;
}

function definedCapability(
  given: GuardOptions,
  name: string,
  reviewed: Reviewed,
): DefinedCapability {
  const { policy, tool, inputs, output } = reviewed;
  const { declared: cost, price, issues: amountIssues } = reviewed.cost;
  const approval = policy.approval && approvalPolicy(policy.approval, tool);
  const defined = defineCapability({
    name,
    description: descriptionOf(tool),
    output: { type: name, fields: [...output.fields] },
    side_effect: policy.effect,
    minimum_scope: [policy.scope],
    failure_types: [UPSTREAM_FAILED],
    ...(cost && { cost }),
    ...(approval && { approval }),
    ...(policy.refuse && { refuse: policy.refuse as never }),
    ...(policy.limit && { rate_limit: { ...policy.limit } }),
    ...(policy.log.length > 0 && { observability: { fields_logged: [...policy.log] } }),
    deadline: handlerDeadline(given.policy.upstream),
  });
  return {
    ...defined,
    price,
    handler: handlerOf(given, reviewed),
    readInputs: (parameters) => {
      const value = inputs.filled(parameters);
      const issues = [
        ...inputs.issues(value),
        ...amountIssues(value),
        ...(approval ? unshowable(tool, value) : []),
      ];
      return issues.length > 0 ? { issues } : { value };
    },
    declaration: {
      ...(defined.declaration as JsonObject),
      inputs: inputs.inputs,
      input_schema: approval ? { ...inputs.schema, $comment: markOf(given, tool) } : inputs.schema,
      ...(output.schema && { output_schema: output.schema }),
    },
  };
}

/** In milliseconds: an upstream reports that it is late before the service stops to wait, and knows what that means. */
const REPORT_MS = 1_000;

function handlerDeadline(upstream: GuardPolicy['upstream']): string {
  return formatDuration(Math.min(DEADLINE_MAX_MS, deadlineMsOf(upstream) + REPORT_MS));
}

/**
 * An approval is bound to the declaration, so the declaration names what the approval is for: the whole tool, also the
 * parts that a declaration does not have, and the upstream that acts.
 */
function markOf({ policy }: GuardOptions, tool: UpstreamTool): string {
  const { deadline: _, ...upstream } = policy.upstream;
  return `reviewed as ${digestOf({ upstream, tool: toolDigest(tool) })}`;
}

function descriptionOf({ name, title, description }: UpstreamTool): string {
  const text = [description, title, `Tool "${name}" of the upstream`].find((each) => each?.trim());
  return shownText(text ?? '', DESCRIPTION_LENGTH_MAX);
}

function handlerOf({ upstream, isCurrent, policy: all }: GuardOptions, reviewed: Reviewed) {
  const { policy, tool, output } = reviewed;
  // A call that has a price is charged once, whatever it does: a second try, or a lost answer, may have been billed.
  const isRead = policy.effect === 'read' && policy.cost === undefined;
  return async (parameters: JsonObject, context: HandlerContext): Promise<JsonObject> => {
    if (!isCurrent(tool)) {
      const detail = `Cannot call "${shownLine(tool.name, NAME_LENGTH_MAX)}": the upstream changed it, and it is off until a person reviews it`;
      throw new NoEffect(detail, 'service_unavailable');
    }
    const accessToken = all.upstream.account && (await context.account(ACCOUNT));
    const { invocation_id: invocationId, signal } = context;
    const result = await upstream.call({
      tool,
      parameters,
      invocationId,
      isRead,
      signal,
      ...(accessToken !== undefined && { accessToken }),
    });
    const [issue] = output.issues(result);
    if (issue) throw misformed(tool, isRead, [...issue.path, issue.message].join(': '));
    const cost = reviewed.cost.answered(result);
    // Without a report the service charges what it reserved: the largest amount.
    if (cost !== undefined) context.cost(cost);
    return result;
  };
}

/** MCP lets clients rely on the schema of an answer, so one that does not fit it is not passed on. */
function misformed({ name }: UpstreamTool, isRead: boolean, why: string): Error {
  const detail = `Cannot pass on the answer of "${shownLine(name, NAME_LENGTH_MAX)}": it is not as its schema says: ${why}`;
  if (isRead) return new NoEffect(detail, UPSTREAM_FAILED.type);
  return new HandlerFailure(`${detail}. The call ended; do not repeat it`, UPSTREAM_FAILED.type);
}

function approvalPolicy(
  { when, passkey, people }: ToolApproval,
  tool: UpstreamTool,
): ApprovalPolicy {
  return {
    when: (typeof when === 'object' && 'when' in when ? { where: when.when } : when) as 'always',
    approvals_required: people,
    ...(passkey && { require: 'passkey' as const }),
    preview: (parameters) => previewOf(tool, parameters),
  };
}

function previewOf({ name }: UpstreamTool, parameters: JsonObject): JsonObject {
  return { tool: name, parameters };
}

/** Left for the price, which the service adds to a preview. */
const PRICE_BYTES = 256;

/** An approver sees all parameters, so a call that may need approval has no more than can be shown. */
function unshowable(tool: UpstreamTool, parameters: JsonObject): SchemaIssue[] {
  const limits = { ...PREVIEW_LIMITS, bytes: PREVIEW_LIMITS.bytes - PRICE_BYTES };
  const reading = readForeignObject(previewOf(tool, parameters), limits);
  if ('value' in reading) return [];
  const message = `an approver must see all parameters, and they cannot be shown: ${reading.fault}`;
  return [{ message, path: [] }];
}

/** The capability, unless it breaks a rule of the catalog: a stranger wrote its schemas. */
function sound(capability: DefinedCapability): Made {
  try {
    createService({ id: 'guard', capabilities: [capability] });
    return capability;
  } catch (error) {
    const [fault] = error instanceof DefinitionError ? error.faults : [];
    if (!fault) throw error;
    return { off: `it cannot be declared: ${faultText(fault)}` };
  }
}
