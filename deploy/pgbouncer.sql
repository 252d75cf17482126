-- Settings of the connections of a service behind PgBouncer. Run it once, as the owner of the databases, with psql
-- directly on the server. PgBouncer drops the settings that a client sends when it connects, so the server has them.
-- The service checks them at its start and does not start without them.
--
-- "writ" is the role and the database of the store, "writ_mark" the database of the mark. A test compares this list
-- with the settings that the service sends where it connects directly.

ALTER ROLE writ IN DATABASE writ SET synchronous_commit = 'on';
ALTER ROLE writ IN DATABASE writ SET default_transaction_isolation = 'read committed';
ALTER ROLE writ IN DATABASE writ SET TimeZone = 'UTC';
ALTER ROLE writ IN DATABASE writ SET DateStyle = 'ISO';
ALTER ROLE writ IN DATABASE writ SET enable_seqscan = 'off';
ALTER ROLE writ IN DATABASE writ SET enable_bitmapscan = 'off';
ALTER ROLE writ IN DATABASE writ SET enable_hashjoin = 'off';
ALTER ROLE writ IN DATABASE writ SET enable_mergejoin = 'off';
ALTER ROLE writ IN DATABASE writ SET jit = 'off';
ALTER ROLE writ IN DATABASE writ SET plan_cache_mode = 'force_generic_plan';
ALTER ROLE writ IN DATABASE writ SET lock_timeout = '5s';
ALTER ROLE writ IN DATABASE writ SET statement_timeout = '10s';
ALTER ROLE writ IN DATABASE writ SET idle_in_transaction_session_timeout = '10s';

ALTER ROLE writ IN DATABASE writ_mark SET synchronous_commit = 'on';
ALTER ROLE writ IN DATABASE writ_mark SET default_transaction_isolation = 'read committed';
ALTER ROLE writ IN DATABASE writ_mark SET TimeZone = 'UTC';
ALTER ROLE writ IN DATABASE writ_mark SET DateStyle = 'ISO';
ALTER ROLE writ IN DATABASE writ_mark SET enable_seqscan = 'off';
ALTER ROLE writ IN DATABASE writ_mark SET enable_bitmapscan = 'off';
ALTER ROLE writ IN DATABASE writ_mark SET enable_hashjoin = 'off';
ALTER ROLE writ IN DATABASE writ_mark SET enable_mergejoin = 'off';
ALTER ROLE writ IN DATABASE writ_mark SET jit = 'off';
ALTER ROLE writ IN DATABASE writ_mark SET plan_cache_mode = 'force_generic_plan';
ALTER ROLE writ IN DATABASE writ_mark SET lock_timeout = '5s';
ALTER ROLE writ IN DATABASE writ_mark SET statement_timeout = '10s';
ALTER ROLE writ IN DATABASE writ_mark SET idle_in_transaction_session_timeout = '10s';
