package store

import (
	"errors"
	"time"

	"github.com/skein-bot/skein/core"
)

// NodeLease is how long a node stays the owner of its sessions and accounts
// after it renewed its lease last, by the database's clock, unless Options say
// otherwise.
const NodeLease = 6 * time.Second

// ErrNodeLost says that the node's lease was not renewed in time, so its sessions and
// accounts belong to others; it comes back under another id.
var ErrNodeLost = errors.New("store: the node's lease is lost")

// dbNow is the database's clock in milliseconds: the one clock that all nodes
// share. SQLite has one node and no leases.
const dbNow = `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`

// RegisterNode records a process that serves the store. On SQLite its older
// rows are dead, because the process lock is the lease.
func (tx *Tx) RegisterNode(id string, now core.Millis) error {
	if !tx.db.Shared() {
		if _, err := tx.exec(`DELETE FROM node WHERE id <> $1`, id); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO node (id, started_at, lease_until) VALUES ($1,$2,$2)`, id, int64(now))
		return err
	}
	return tx.later(`INSERT INTO node (id, started_at, lease_until) VALUES ($1, $2, `+dbNow+` + $3)`, id, int64(now), tx.db.lease.Milliseconds())
}

// RenewNode extends a node's lease and returns how many nodes live, or
// ErrNodeLost if it had run out.
func (tx *Tx) RenewNode(id string) (nodes int, err error) {
	n, err := tx.exec(`UPDATE node SET lease_until = `+dbNow+` + $2 WHERE id = $1 AND lease_until >= `+dbNow, id, tx.db.lease.Milliseconds())
	if err == nil && n == 0 {
		err = ErrNodeLost
	}
	if err != nil {
		return 0, err
	}
	err = tx.one(`SELECT COUNT(*) FROM node WHERE lease_until >= `+dbNow, nil, &nodes)
	return nodes, err
}

// CheckNode returns ErrNodeLost unless the node is registered; it stays so until
// the unit ends. A claim calls it, so that none is made by a node that others
// have taken for dead.
func (tx *Tx) CheckNode(id string) error {
	if !tx.db.Shared() {
		return nil
	}
	var have string
	err := tx.one(`SELECT id FROM node WHERE id = $1 FOR KEY SHARE`, []any{id}, &have)
	if errors.Is(err, ErrNotFound) {
		return ErrNodeLost
	}
	return err
}

// NodeLives reports whether a node's lease holds. On SQLite no other node does.
func (tx *Tx) NodeLives(id string) (lives bool, err error) {
	if !tx.db.Shared() {
		return false, nil
	}
	n := 0
	err = tx.one(`SELECT COUNT(*) FROM node WHERE id = $1 AND lease_until >= `+dbNow, []any{id}, &n)
	return n > 0, err
}

// DeadNodes removes the nodes whose lease has run out and returns the owners of
// sessions that are not registered: theirs, and of nodes that were removed
// before.
func (tx *Tx) DeadNodes() ([]string, error) {
	scan := func(s scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}
	if _, err := tx.exec(`DELETE FROM node WHERE lease_until < ` + dbNow); err != nil {
		return nil, err
	}
	// First the owners, then who lives: a node registers before it owns.
	owners, err := all(tx, scan, `SELECT DISTINCT owner FROM session WHERE owner <> ''`)
	if err != nil {
		return nil, err
	}
	nodes, err := all(tx, scan, `SELECT id FROM node`)
	if err != nil {
		return nil, err
	}
	lives := make(map[string]bool, len(nodes))
	for _, id := range nodes {
		lives[id] = true
	}
	var dead []string
	for _, id := range owners {
		if !lives[id] {
			dead = append(dead, id)
		}
	}
	return dead, nil
}

// FreeSessionsOf takes every session from a node, marks it ready, because it has
// a turn in progress, and returns how many it took.
func (tx *Tx) FreeSessionsOf(node string, now core.Millis) (int64, error) {
	return tx.exec(`UPDATE session SET owner = '', fence = fence + 1, ready = 1, ready_at = $2 WHERE owner = $1 AND owner <> ''`,
		node, int64(now))
}

// DropNode removes a node that stops in good order: others take over what it
// leaves at once.
func (tx *Tx) DropNode(id string, now core.Millis) error {
	if _, err := tx.exec(`DELETE FROM node WHERE id = $1`, id); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM account_lease WHERE node = $1`, id); err != nil {
		return err
	}
	_, err := tx.FreeSessionsOf(id, now)
	return err
}

// Owned returns the fences of the sessions that a node owns, by their ids.
func (tx *Tx) Owned(node string) (map[int64]int64, error) {
	rows, err := all(tx, func(s scanner) (r [2]int64, err error) {
		err = s.Scan(&r[0], &r[1])
		return r, err
	}, `SELECT id, fence FROM session WHERE owner = $1 AND owner <> ''`, node)
	out := make(map[int64]int64, len(rows))
	for _, r := range rows {
		out[r[0]] = r[1]
	}
	return out, err
}

// UnownedReady returns the ids of sessions that have work and no owner, oldest
// first.
func (tx *Tx) UnownedReady(limit int) ([]int64, error) {
	return all(tx, scanID, `SELECT id FROM session WHERE ready = 1 AND owner = '' ORDER BY ready_at LIMIT $1`, limit)
}

// HoldAccount makes a node the one that receives and sends for an account, if
// no living one does; held is false if another is. On SQLite it is always held.
func (tx *Tx) HoldAccount(channel, account, node string) (held bool, err error) {
	if !tx.db.Shared() {
		return true, nil
	}
	if err := tx.CheckNode(node); err != nil {
		return false, err
	}
	_, err = tx.exec(`INSERT INTO account_lease (channel, account, node) VALUES ($1,$2,$3)
		ON CONFLICT (channel, account) DO UPDATE SET node = excluded.node
		WHERE account_lease.node <> excluded.node AND NOT EXISTS (SELECT 1 FROM node WHERE id = account_lease.node AND lease_until >= `+dbNow+`)`,
		channel, account, node)
	if err != nil {
		return false, err
	}
	var holder string
	err = tx.one(`SELECT node FROM account_lease WHERE channel = $1 AND account = $2`, []any{channel, account}, &holder)
	return holder == node, err
}

// DropAccount gives an account up that a node holds.
func (tx *Tx) DropAccount(channel, account, node string) error {
	return tx.later(`DELETE FROM account_lease WHERE channel = $1 AND account = $2 AND node = $3`, channel, account, node)
}

// CheckAccount returns ErrNodeLost unless the node holds the account; it stays
// so until the unit ends. Intake and delivery call it before they write.
func (tx *Tx) CheckAccount(channel, account, node string) error {
	if !tx.db.Shared() {
		return nil
	}
	var have string
	err := tx.one(`SELECT node FROM account_lease WHERE channel = $1 AND account = $2 FOR SHARE`, []any{channel, account}, &have)
	if errors.Is(err, ErrNotFound) || err == nil && have != node {
		return ErrNodeLost
	}
	return err
}

// Nodes returns the nodes that are registered, for status.
func (tx *Tx) Nodes() ([]string, error) {
	return all(tx, func(s scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `SELECT id FROM node ORDER BY id`)
}
