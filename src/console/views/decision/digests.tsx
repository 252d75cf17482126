/**
 * The exact digests: computed in this browser from what it shows, and compared with those of the request.
 *
 * @module
 */

import type { Decision } from '../../../protocol/console/views.ts';
import { Copy, Hash } from '../../parts/hash.tsx';
import { type Digests, digestsOf } from './checks.ts';
import { digestCommand } from './command.ts';
import { Part } from './part.tsx';

export function DigestList({ of }: { readonly of: Decision }) {
  const { request } = of;
  const computed: Digests = digestsOf(request);
  // The nonce is part of what a passkey signs; the digests here do not depend on it.
  const command = digestCommand(request.approval_request_id, 'any');
  return (
    <Part
      name="digests"
      title="Exact digests"
      aside="SHA-256 of canonical JSON, computed in this browser"
      expects={{ selector: 'code.hash', count: computed.preview === null ? 1 : 2 }}
    >
      <dl class="facts wide">
        <dt>Parameters</dt>
        <dd>
          <One
            computed={computed.parameters}
            expected={request.requested_parameters_digest}
            what="the digest of the parameters"
          />
        </dd>
        <dt>Preview</dt>
        <dd>
          {computed.preview === null ? (
            'The request has none.'
          ) : (
            <One
              computed={computed.preview}
              expected={request.preview_digest}
              what="the digest of the preview"
            />
          )}
        </dd>
      </dl>
      <p class="small">
        <code>{command}</code> <Copy text={command} what="the command" /> computes them without this
        page.
      </p>
    </Part>
  );
}

interface OneOf {
  readonly computed: string | undefined;
  readonly expected: string | null;
  readonly what: string;
}

function One({ computed, expected, what }: OneOf) {
  return (
    <>
      <Hash hex={computed ?? ''} what={what} />
      {computed !== undefined && computed === expected ? (
        <p class="small good">✓ Equals the one that the agent asked with</p>
      ) : (
        <p class="small bad">✕ Differs from the one that the agent asked with</p>
      )}
    </>
  );
}
