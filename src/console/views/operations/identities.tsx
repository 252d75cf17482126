/**
 * Identities and their entitlements: who may ask for what. Credentials are never shown.
 *
 * @module
 */

import type { IdentityList, IdentityView } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Codes, Pill, Shown } from '../../parts/elements.tsx';
import { Ready, useLoaded } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { lastOf } from './answers.ts';
import { Paged } from './turning.tsx';

export function Identities() {
  const loaded = useLoaded(() => ask('operations.identities', {}), []);
  const all = lastOf(loaded)?.identities;
  const demo = all?.filter(({ is_demo }) => is_demo).length;
  return (
    <Fold
      title="People and programs with a key"
      icon="key"
      state={all && `${all.length}${demo ? `, of which ${demo} use demo keys` : ''}`}
    >
      <Ready of={loaded} what="The list of identities">
        {(list) => <AllIdentities of={list} />}
      </Ready>
    </Fold>
  );
}

function AllIdentities({ of: { identities, rules, issuers } }: { readonly of: IdentityList }) {
  return (
    <>
      {identities.length === 0 ? (
        <p>
          None has a key. The settings of the service name them, and operators add them with{' '}
          <code>writ identities add</code>.
        </p>
      ) : (
        <Paged what="identities" items={identities}>
          {(page) => (
            <ul class="list">
              {page.map((identity) => (
                <Entitled
                  key={
                    identity.stored?.identity_id ??
                    `${identity.principal} ${identity.caller_class} ${identity.scopes.join()}`
                  }
                  of={identity}
                  who={[identity.principal]}
                  stored={identity.stored}
                />
              ))}
            </ul>
          )}
        </Paged>
      )}
      <Rules of={rules} issuers={issuers} />
    </>
  );
}

function Rules({
  of,
  issuers,
}: {
  readonly of: IdentityList['rules'];
  readonly issuers: IdentityList['issuers'];
}) {
  return (
    <>
      <h3>People of identity providers</h3>
      {issuers.length === 0 ? (
        <p class="small">No identity provider is configured.</p>
      ) : (
        <p class="small">
          Accepted: <Codes of={issuers} />
        </p>
      )}
      {of.length === 0 ? null : (
        <Paged what="rules" items={of}>
          {(page) => (
            <ul class="list">
              {page.map((rule) => (
                <Entitled
                  key={`${rule.principals.join()} ${rule.scopes.join()}`}
                  of={rule}
                  who={rule.principals}
                />
              ))}
            </ul>
          )}
        </Paged>
      )}
    </>
  );
}

interface EntitledProps {
  readonly of: Omit<IdentityView, 'principal' | 'stored'>;
  readonly who: readonly string[];
  readonly stored?: IdentityView['stored'];
}

function Entitled({ of: { scopes, subjects, caller_class, is_demo }, who, stored }: EntitledProps) {
  return (
    <Row
      icon="person"
      title={<Shown text={who.join(', ')} />}
      side={is_demo ? <Pill state="warn">Demo key</Pill> : null}
    >
      <p>
        {caller_class} · may ask for <Codes of={scopes} none="nothing" /> · may name{' '}
        <Codes of={subjects} none="no other subject" />
      </p>
      {stored ? (
        <p>
          <code>{stored.identity_id}</code>, added by <Shown text={stored.created_by} />
        </p>
      ) : null}
    </Row>
  );
}
