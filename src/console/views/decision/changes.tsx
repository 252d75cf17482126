/**
 * What differs from the newest request of the same agent for the same capability that was approved.
 *
 * @module
 */

import { canonicalJson } from '../../../domain/wire/canonical.ts';
import type { Decision, Similar } from '../../../protocol/console/views.ts';
import type { Money } from '../../../protocol/primitives.ts';
import { now } from '../../live.ts';
import { isMe } from '../../me.ts';
import { namesOf } from '../../parts/hidden.ts';
import { Empty } from '../../parts/loaded.tsx';
import { Amount, plain } from '../../parts/money.tsx';
import { personOf } from '../../parts/name.tsx';
import { Shown } from '../../parts/shown.tsx';
import { shortOf } from '../../parts/time.tsx';
import { moneyIn, Value } from '../../parts/value.tsx';
import { hrefOf } from '../../router.ts';
import { hasKnownPast, moneyInputs } from './claims.ts';
import { Part } from './part.tsx';

export interface Change {
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly currency: string | undefined;
}

export function changesOf(of: Decision): Change[] {
  const { request, similar, capability } = of;
  if (!similar) return [];
  const [then, asked] = [similar.parameters, request.parameters];
  const currencies = moneyInputs(capability, then, asked);
  return namesOf({ ...then, ...asked })
    .map((name) => ({
      name,
      before: then[name],
      after: asked[name],
      currency: currencies.get(name),
    }))
    .filter(({ before, after }) => textOf(before) !== textOf(after));
}

function textOf(value: unknown): string {
  return value === undefined ? '' : canonicalJson(value);
}

export function Changes({ of }: { readonly of: Decision }) {
  const { similar } = of;
  const changes = changesOf(of);
  return (
    <Part
      name="changes"
      title="Changed since the last similar approval"
      aside={similar ? <When of={similar} /> : undefined}
      expects={{ selector: 'tbody tr', count: changes.length }}
    >
      {changes.length > 0 ? <Table changes={changes} /> : <Same of={of} />}
    </Part>
  );
}

function When({ of }: { readonly of: Similar }) {
  const by = of.approved_by.map((name) => (isMe(name) ? 'you' : personOf(name))).join(' and ');
  return (
    <>
      <a href={hrefOf('approvals', of.approval_request_id)}>{shortOf(of.decided_at, now.value)}</a>,
      by <Shown text={by} />
    </>
  );
}

function Same({ of }: { readonly of: Decision }) {
  if (of.similar) return <Empty>Nothing: all parameters are the same as then.</Empty>;
  if (!hasKnownPast(of)) {
    return <Empty>Not known: the request is of an older version of the service.</Empty>;
  }
  return <Empty>No request of this agent for this capability was approved before.</Empty>;
}

function Table({ changes }: { readonly changes: readonly Change[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Then → now</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.name}>
            <th scope="row">
              <Shown text={change.name} />
            </th>
            <td>
              <Difference of={change} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Difference({ of: { before, after, currency } }: { readonly of: Change }) {
  const [then, asked] = [moneyIn(before, currency), moneyIn(after, currency)];
  return (
    <>
      <del>{then ? <Amount of={then} /> : <Maybe value={before} />}</del> →{' '}
      <ins>{asked ? <Amount of={asked} /> : <Maybe value={after} />}</ins>{' '}
      {then && asked ? <small class="unit">{differenceWords(then, asked)}</small> : null}
    </>
  );
}

function Maybe({ value }: { readonly value: unknown }) {
  return value === undefined ? 'absent' : <Value of={value} />;
}

function differenceWords(then: Money, asked: Money): string {
  if (then.currency !== asked.currency) return 'another currency';
  const amount = Math.round(Math.abs(asked.amount - then.amount) * 10_000) / 10_000;
  return `${plain({ amount, currency: then.currency })} ${asked.amount > then.amount ? 'more' : 'less'}`;
}
