/**
 * How the service is set, and the exact ids, versions and times.
 *
 * @module
 */

import { exact } from '../../../domain/values/time-words.ts';
import { Fact, Heads } from '../../parts/elements.tsx';
import { Ready } from '../../parts/loaded.tsx';
import { Evidence, Fold } from '../../parts/panels.tsx';
import { type Answers, lastOf } from './answers.ts';

interface StateProps {
  readonly of: Answers['state'];
}

export function Settings({ of }: StateProps) {
  const names = Object.keys(lastOf(of)?.settings ?? {}).sort();
  return (
    <Fold title="Settings" icon="tool" state={`${names.length} that are not secret`}>
      <Ready of={of} what="The list of settings">
        {(state) => (
          <table>
            <Heads of={['Setting', 'Value']} />
            <tbody>
              {names.map((name) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td>
                    <code>{String(state?.settings[name])}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Ready>
    </Fold>
  );
}

export function Runtime({ of: { state, unknown } }: { readonly of: Answers }) {
  const now = lastOf(state);
  const calls = lastOf(unknown)?.indeterminate ?? [];
  if (!now) return null;
  return (
    <Evidence result="ids, versions, exact times">
      <dl class="facts">
        <Fact term="Runtime">
          Writ {now.version}, Node {now.node}, {now.store}, started {exact(now.started_at)}
        </Fact>
        {calls.map(({ invocation_id, admitted_at }) => (
          <Fact key={invocation_id} term="Call">
            <code>{invocation_id}</code>, admitted {exact(admitted_at)}
          </Fact>
        ))}
        {now.keys.map(({ kid, use }) => (
          <Fact key={kid} term={`Key: ${use}`} is={<code>{kid}</code>} />
        ))}
      </dl>
    </Evidence>
  );
}
