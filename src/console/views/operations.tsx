/**
 * The view Operations: the state of the service, and what operators do about it. Each block loads by itself.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import type { Me, Operations } from '../../protocol/console/views.ts';
import { ask } from '../api.ts';
import { me } from '../me.ts';
import { type Loaded, Loading, useLoaded } from '../parts/loaded.tsx';
import { growth } from './growth.ts';
import { Deliveries } from './operations/deliveries.tsx';
import { Freezes } from './operations/freezes.tsx';
import { Health } from './operations/health.tsx';
import { Identities } from './operations/identities.tsx';
import { Indeterminate } from './operations/indeterminate.tsx';
import { Keys } from './operations/keys.tsx';
import { Log } from './operations/log.tsx';
import { Block } from './operations/rights.tsx';
import { Sessions } from './operations/sessions.tsx';
import { Ready } from './ready.tsx';

export function OperationsView() {
  const person = me.value;
  return (
    <>
      <h1>Operations</h1>
      {person ? <Blocks person={person} /> : <Loading what="what you may do" />}
    </>
  );
}

function Blocks({ person }: { readonly person: Me }) {
  const mayRead = person.operates.includes('read');
  const state = useLoaded<Operations | undefined>(
    () => (mayRead ? ask('operations', {}) : Promise.resolve(undefined)),
    [mayRead, growth.value],
  );
  const common = { person };
  return (
    <>
      <Block {...common} name="health" title="Health" needs="read">
        {() => (
          <Part of={state} what="The state">
            {(now) => <Health of={now} />}
          </Part>
        )}
      </Block>
      <Block {...common} name="log" title="Log" needs="read">
        {() => (
          <Part of={state} what="The state of the log">
            {({ log }) => <Log of={log} person={person} onSealed={state.again} />}
          </Part>
        )}
      </Block>
      <Block {...common} name="unknown" title="Calls of unknown outcome" needs="indeterminate">
        {() => <Indeterminate person={person} />}
      </Block>
      <Block {...common} name="freezes" title="Freezes" needs="frozen">
        {() => <Freezes person={person} />}
      </Block>
      <Block {...common} name="deliveries" title="Deliveries" needs="deliveries">
        {() => <Deliveries />}
      </Block>
      <Block {...common} name="keys" title="Keys" needs="read">
        {() => (
          <Part of={state} what="The list of keys">
            {({ keys }) => <Keys of={keys} />}
          </Part>
        )}
      </Block>
      <Block {...common} name="identities" title="Identities" needs="read">
        {() => <Identities />}
      </Block>
      <Block {...common} name="sessions" title="Sessions" needs="read">
        {() => <Sessions mayEnd={person.operates.includes('revoke')} />}
      </Block>
    </>
  );
}

interface PartOf {
  readonly of: Loaded<Operations | undefined>;
  readonly what: string;
  readonly children: (state: Operations) => ComponentChildren;
}

/** A part of the one answer about the state. */
function Part({ of, what, children }: PartOf) {
  return (
    <Ready of={of} what={what}>
      {(state) => (state ? children(state) : null)}
    </Ready>
  );
}
