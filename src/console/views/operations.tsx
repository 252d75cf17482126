/**
 * The view Operations: the state in one sentence, what needs an operator, the numbers of now, and everything else folded.
 *
 * Each part loads by itself; a part that a person may not read is named with the scope that it needs.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import type { Me, OperatorRight } from '../../protocol/console/views.ts';
import type { Freeze } from '../../protocol/operator.ts';
import { me } from '../api.ts';
import { Icon } from '../parts/icon.tsx';
import { Loading } from '../parts/loaded.tsx';
import { useAnswers } from './operations/answers.ts';
import { Deliveries } from './operations/deliveries.tsx';
import { Freezes } from './operations/freezes.tsx';
import { FreezeDialog, LiftDialog } from './operations/freezing.tsx';
import { Glance } from './operations/glance.tsx';
import { Identities } from './operations/identities.tsx';
import { Keys } from './operations/keys.tsx';
import { Log } from './operations/log.tsx';
import { Needs, State } from './operations/needs.tsx';
import { People } from './operations/people.tsx';
import { Runtime, Settings } from './operations/runtime.tsx';
import { Sessions } from './operations/sessions.tsx';
import { type Done, Outcome } from './outcome.tsx';

export function OperationsView() {
  const person = me.value;
  if (person) return <Page person={person} />;
  return (
    <>
      <h1>Operations</h1>
      <Loading what="what you may do" />
    </>
  );
}

function Page({ person }: { readonly person: Me }) {
  const may = (right: OperatorRight) => person.operates.includes(right);
  const answers = useAnswers(may);
  const [done, setDone] = useState<Done>();
  const [isFreezing, setFreezing] = useState(false);
  const [lifting, lift] = useState<Freeze>();
  const finish = (what: Done) => {
    setDone(what);
    for (const { again } of [answers.state, answers.unknown, answers.frozen]) again();
  };
  const part = { answers, may, finish, lift };
  const lacking = LACKS.filter(([right]) => !may(right));
  return (
    <>
      <div class="head mid">
        <h1>Operations</h1>{' '}
        {may('freeze') ? (
          <button type="button" class="little danger" onClick={() => setFreezing(true)}>
            <Icon name="stop" /> Freeze…
          </button>
        ) : null}
      </div>
      <State {...part} isWhole={lacking.length === 0} />
      <Outcome of={done} />
      <Needs {...part} />
      <Glance of={answers} may={may} />
      <section aria-labelledby="h-more">
        <h2 id="h-more">Everything else</h2>
        <div class="folds">
          {may('read') ? <Log {...part} /> : null}
          {may('read') ? <Keys of={answers.state} /> : null}
          {may('frozen') ? <Freezes {...part} /> : null}
          {may('deliveries') ? <Deliveries of={answers.deliveries} /> : null}
          {may('identities') ? <People /> : null}
          {may('read') ? <Identities /> : null}
          {may('read') ? <Sessions mayEnd={may('revoke')} /> : null}
          {may('read') ? <Settings of={answers.state} /> : null}
        </div>
      </section>
      {lacking.length > 0 ? <Lacking of={lacking} /> : null}
      <Runtime of={answers} />
      <FreezeDialog
        open={isFreezing}
        onClose={() => setFreezing(false)}
        onDone={(words) => finish({ words })}
      />
      <LiftDialog
        of={lifting}
        onClose={() => lift(undefined)}
        onDone={(words) => finish({ words })}
      />
    </>
  );
}

/** What a right lets a person see here. */
const LACKS: readonly (readonly [OperatorRight, string])[] = [
  ['read', 'The state of the service, its log, keys, identities, sessions and settings'],
  ['indeterminate', 'Calls of unknown outcome'],
  ['frozen', 'Freezes'],
  ['deliveries', 'Notifications'],
  ['identities', 'People with passkeys'],
  ['audit', 'The calls of everybody today'],
];

function Lacking({ of }: { readonly of: typeof LACKS }) {
  return (
    <section aria-labelledby="h-lacking">
      <h2 id="h-lacking">Not shown to you</h2>
      <p>A person who configures the identities of this service can grant you the scopes.</p>
      <ul class="small">
        {of.map(([right, what]) => (
          <li key={right}>
            {what}: needs <code>operator:{right}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
