/**
 * Debts: what handlers reported beyond their reservation, by token and currency; and admissions that respect
 * a freeze of a capability for one root principal.
 *
 * Separate from budgets: a token without a budget can be overrun too, and no admission reads debts.
 *
 * @module
 */

export const DEBTS = `
CREATE TABLE debts (
  token_id text NOT NULL REFERENCES tokens,
  currency text NOT NULL,
  amount minor_units NOT NULL,
  PRIMARY KEY (token_id, currency)
);

-- What the calls ask for, and what of them is dead or frozen.
--
-- For freezes a plain read is enough: this statement sees every freeze that was acknowledged before it
-- began, and so every one acknowledged before the admission was asked for. Nothing is promised about
-- a freeze that comes while the admission is under way. The widest is told: the names of the kinds
-- happen to be in that order.
CREATE OR REPLACE FUNCTION writ_judge_calls(p_calls jsonb, p_held text[])
RETURNS admitting[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(c.place, c.call -> 'intent', (c.call ->> 'now')::timestamptz,
    c.call ->> 'currency', (c.call ->> 'amount')::bigint, c.call -> 'key', c.call -> 'grant',
    (c.call ->> 'lease_until')::timestamptz, t.lineage, j.exclusive, '{}'::text[], '[]'::jsonb,
    CASE WHEN t.token_id IS NULL THEN jsonb_build_object('reason', 'unknown_token',
        'token_id', c.call #>> '{intent,token_id}')
      WHEN j.fault IS NOT NULL THEN jsonb_build_object('reason', j.fault, 'token_id', j.culprit)
      WHEN f.freeze IS NOT NULL THEN jsonb_build_object('reason', 'frozen', 'freeze', f.freeze)
    END, c.call -> 'ceilings')::admitting ORDER BY c.place)
  FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c (call, place)
  LEFT JOIN tokens t ON t.token_id = c.call #>> '{intent,token_id}' AND t.token_id = ANY (p_held)
  LEFT JOIN LATERAL writ_judge(t.lineage, (c.call ->> 'now')::timestamptz, c.call ->> 'sealed') j
    ON true
  LEFT JOIN LATERAL (
    SELECT to_jsonb(f) AS freeze FROM freezes f
    WHERE (f.what, f.target) IN (('service', ''), ('capability', c.call #>> '{intent,capability}'),
        ('capability', (c.call #>> '{intent,capability}') || ' ' || (c.call #>> '{intent,root_principal}')),
        ('root_principal', c.call #>> '{intent,root_principal}'))
      AND (f.until IS NULL OR f.until > (c.call ->> 'now')::timestamptz)
    ORDER BY f.what DESC, f.target LIMIT 1
  ) f ON true;
$$;
`;
