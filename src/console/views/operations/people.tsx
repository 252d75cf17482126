/**
 * People who sign in with passkeys: who they are, their devices, open invitations, and a form that invites.
 *
 * The link and the code of an invitation are shown once, to the person who invites. The right to approve is not given here.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { personOfAddress } from '../../../domain/authority/person.ts';
import { personOf } from '../../../domain/decision/values.ts';
import type {
  InvitationView,
  InvitedPerson,
  PersonView,
} from '../../../protocol/console/people.ts';
import type { Passkey } from '../../../protocol/decision.ts';
import { ask } from '../../api.ts';
import { Confirm, Why } from '../../parts/dialog.tsx';
import { Ago, Fact, Left, Person, Shown } from '../../parts/elements.tsx';
import { CancelInvitation } from '../../parts/invitation.tsx';
import { Ready, useLoaded, whyOf } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { growth } from '../growth.ts';
import { lastOf } from './answers.ts';
import { Paged } from './turning.tsx';

export function People() {
  const loaded = useLoaded(() => ask('people.list', {}), [growth.value]);
  const list = lastOf(loaded);
  const open = list?.invitations.length ? `, ${list.invitations.length} invited` : '';
  return (
    <Fold
      title="People with passkeys"
      icon="passkey"
      state={list && `${list.people.length}${open}`}
    >
      <Ready of={loaded} what="The list of people">
        {({ people, invitations }) => (
          <>
            {people.length === 0 ? (
              <p>Nobody signs in here with a passkey yet.</p>
            ) : (
              <Paged what="people" items={people}>
                {(page) => (
                  <ul class="list">
                    {page.map((person) => (
                      <One key={person.identity_id} of={person} changed={loaded.again} />
                    ))}
                  </ul>
                )}
              </Paged>
            )}
            <Invitations of={invitations} changed={loaded.again} />
          </>
        )}
      </Ready>
      <Invite changed={loaded.again} />
    </Fold>
  );
}

interface OneProps {
  readonly of: PersonView;
  changed(): void;
}

function One({ of: { principal, scopes, created_at, created_by }, changed }: OneProps) {
  const isOpen = useSignal(false);
  const isRemoving = useSignal(false);
  return (
    <Row
      icon="person"
      title={<Shown text={personOf(principal)} />}
      side={
        <>
          <button
            type="button"
            class="little"
            aria-expanded={isOpen.value}
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            Devices
          </button>{' '}
          <button
            type="button"
            class="little danger"
            aria-label={`Remove ${personOf(principal)}…`}
            onClick={() => {
              isRemoving.value = true;
            }}
          >
            Remove…
          </button>
        </>
      }
    >
      <p>
        <Shown text={scopes.length === 0 ? 'May do nothing here' : scopes.join(', ')} /> · since{' '}
        <Ago at={created_at} />, invited by <Shown text={personOf(created_by)} />
      </p>
      {isOpen.value ? <Devices of={principal} /> : null}
      <Confirm
        open={isRemoving.value}
        onClose={() => {
          isRemoving.value = false;
        }}
        title={
          <>
            Remove <Person of={principal} />?
          </>
        }
        confirm="Remove this person"
        back="Keep"
        look="final"
        onConfirm={async () => {
          await ask('people.remove', { principal });
          changed();
        }}
      >
        <p>
          All devices and sessions of this person end at once. Agents that the person let act stay:
          end them, too.
        </p>
      </Confirm>
    </Row>
  );
}

function Devices({ of: principal }: { readonly of: string }) {
  const loaded = useLoaded(() => ask('people.devices', { principal }), [principal]);
  return (
    <Ready of={loaded} what="The list of devices">
      {({ devices }) =>
        devices.length === 0 ? (
          <p>No device. Invite this person again.</p>
        ) : (
          <ul>
            {devices.map((device) => (
              <Device
                key={device.credential_id}
                of={device}
                principal={principal}
                changed={loaded.again}
              />
            ))}
          </ul>
        )
      }
    </Ready>
  );
}

interface DeviceProps {
  readonly of: Passkey;
  readonly principal: string;
  changed(): void;
}

function Device({ of: { label, created_at, credential_id }, principal, changed }: DeviceProps) {
  const why = useSignal<string | undefined>(undefined);
  return (
    <li>
      <p class="small">
        <Shown text={label} />, added <Ago at={created_at} />{' '}
        <button
          type="button"
          class="text danger"
          aria-label={`Remove the device ${label}`}
          onClick={async () => {
            try {
              await ask('people.remove_device', { principal, credential_id });
              changed();
            } catch (error) {
              why.value = whyOf(error);
            }
          }}
        >
          Remove
        </button>
      </p>
      <Why of={why.value} />
    </li>
  );
}

interface InvitationsProps {
  readonly of: readonly InvitationView[];
  changed(): void;
}

function Invitations({ of: invitations, changed }: InvitationsProps) {
  if (invitations.length === 0) return null;
  return (
    <>
      <h3>Open invitations</h3>
      <ul>
        {invitations.map(({ invitation_id, principal, expires_at }) => (
          <li key={invitation_id}>
            <div class="small">
              <Shown text={personOf(principal)} />, ends <Left until={expires_at} />{' '}
              <CancelInvitation
                of={invitation_id}
                class="text danger"
                label={`Cancel the invitation of ${personOf(principal)}`}
                cancelled={changed}
              >
                Cancel
              </CancelInvitation>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

function Invite({ changed }: { changed(): void }) {
  const field = useId();
  const why = useSignal<string | undefined>(undefined);
  const invited = useSignal<InvitedPerson | undefined>(undefined);
  const invite = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    const words = (name: string) => String(fields.get(name)).split(/\s+/).filter(Boolean);
    why.value = undefined;
    try {
      const [address = ''] = words('person');
      const request = { principal: personOfAddress(address), scopes: words('scopes') };
      invited.value = await ask('people.invite', request);
      form.reset();
      changed();
    } catch (error) {
      why.value = whyOf(error);
    }
  };
  return (
    <>
      <h3>Invite a person</h3>
      <form class="stack" onSubmit={invite}>
        <p class="field">
          <label for={`${field}-person`}>Address</label>
          <input id={`${field}-person`} name="person" required maxLength={256} autocomplete="off" />
        </p>
        <p class="field">
          <label for={`${field}-scopes`}>Scopes</label>
          <input
            id={`${field}-scopes`}
            name="scopes"
            maxLength={2_000}
            autocomplete="off"
            aria-describedby={`${field}-hint`}
          />
          <small id={`${field}-hint`}>
            With spaces between, such as travel.*. Leave it empty for somebody who is here and lost
            a device.
          </small>
        </p>
        <Why of={why.value} />
        <div class="row">
          <button type="submit" class="act">
            Make an invitation
          </button>
        </div>
      </form>
      {invited.value ? <Invited of={invited.value} /> : null}
    </>
  );
}

function Invited({ of: { principal, link, code, expires_at } }: { readonly of: InvitedPerson }) {
  return (
    <div class="notice" role="status">
      <p>
        <b>
          For <Shown text={personOf(principal)} />.
        </b>{' '}
        Send the link, and give the code by another way. They are shown once and end{' '}
        <Left until={expires_at} />.
      </p>
      <dl class="facts">
        <Fact term="Link" is={<code>{link}</code>} />
        <Fact term="Code" is={<code>{code}</code>} />
      </dl>
    </div>
  );
}
