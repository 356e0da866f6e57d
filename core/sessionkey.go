package core

import (
	"errors"
	"fmt"
	"strings"
)

// SessionKind says what a session is for; it is the part of a session key
// that decides which other parts the key has.
type SessionKind string

// The kinds of session.
const (
	SessionMain      SessionKind = "main"      // agent:<id>:main
	SessionDirect    SessionKind = "direct"    // a person's direct chat
	SessionGroup     SessionKind = "group"     // a group, channel or room
	SessionSubagent  SessionKind = "subagent"  // a spawned child, at every depth
	SessionDashboard SessionKind = "dashboard" // a visible persistent session
	SessionCron      SessionKind = "cron"      // one run of a cron job
)

// Spawned reports whether sessions of the kind belong to a run that an agent
// started.
func (k SessionKind) Spawned() bool { return k == SessionSubagent || k == SessionDashboard }

// DirectScope says which parts a direct chat's session key keeps
// (session.dmScope).
type DirectScope string

// The scopes of direct chats. ScopePerChannelPeer is the default.
const (
	ScopeMain                  DirectScope = "main"
	ScopePerPeer               DirectScope = "per-peer"
	ScopePerChannelPeer        DirectScope = "per-channel-peer"
	ScopePerAccountChannelPeer DirectScope = "per-account-channel-peer"
)

// SessionKey identifies a session. Two keys are equal exactly when all their
// parts are; the parts that a kind or a scope does not keep are empty. The
// text form is what people and the store see.
type SessionKey struct {
	Agent   string
	Kind    SessionKind
	Channel string // direct (but per-peer) and group
	Account string // group, and direct with per-account-channel-peer
	Peer    string // direct: the person; group: the conversation; subagent, dashboard: the id; cron: the job
	Run     string // cron only
	Thread  string // main, direct and group
}

// DirectKey returns the key of a direct chat of peer at addr under scope. An
// unknown or empty scope is ScopePerChannelPeer.
func DirectKey(agent string, scope DirectScope, addr Address, peer string) SessionKey {
	k := SessionKey{Agent: agent, Kind: SessionDirect, Peer: peer, Thread: addr.Thread}
	switch scope {
	case ScopeMain:
		return SessionKey{Agent: agent, Kind: SessionMain, Thread: addr.Thread}
	case ScopePerPeer:
	case ScopePerAccountChannelPeer:
		k.Channel, k.Account = addr.Channel, addr.Account
	default:
		k.Channel = addr.Channel
	}
	return k
}

// GroupKey returns the key of the group at addr. The account is part of it, so
// two bots in one group never share a history.
func GroupKey(agent string, addr Address) SessionKey {
	return SessionKey{
		Agent: agent, Kind: SessionGroup, Channel: addr.Channel, Account: addr.Account,
		Peer: addr.Conversation, Thread: addr.Thread,
	}
}

// SubagentKey returns the key of a spawned child; lineage is stored, not
// encoded in the key.
func SubagentKey(agent, id string) SessionKey {
	return SessionKey{Agent: agent, Kind: SessionSubagent, Peer: id}
}

// DashboardKey returns the key of a visible session that an agent started.
func DashboardKey(agent, id string) SessionKey {
	return SessionKey{Agent: agent, Kind: SessionDashboard, Peer: id}
}

// String returns the text form of k, its parts percent-escaped as in an
// Address.
func (k SessionKey) String() string {
	parts := []string{"agent", k.Agent}
	switch k.Kind {
	case SessionDirect:
		if k.Channel != "" {
			parts = append(parts, k.Channel)
		}
		if k.Account != "" {
			parts = append(parts, k.Account)
		}
		parts = append(parts, "direct", k.Peer)
	case SessionGroup:
		parts = append(parts, k.Channel, k.Account, "group", k.Peer)
	case SessionCron:
		parts = append(parts, "cron", k.Peer, "run", k.Run)
	case SessionMain:
		parts = append(parts, "main")
	default:
		parts = append(parts, string(k.Kind), k.Peer)
	}
	if k.Thread != "" {
		parts = append(parts, "thread", k.Thread)
	}
	for i, p := range parts {
		parts[i] = escapeKeyPart(p)
	}
	return strings.Join(parts, ":")
}

// escapeKeyPart escapes like an address part but writes an empty part as a
// lone '%', so that no part vanishes.
func escapeKeyPart(s string) string {
	if s == "" {
		return "%"
	}
	return escape(s)
}

func unescapeKeyPart(s string) (string, error) {
	if s == "%" {
		return "", nil
	}
	if s == "" {
		return "", errors.New("a part is empty")
	}
	return unescape(s)
}

// ErrBadSessionKey is wrapped by every error of ParseSessionKey.
var ErrBadSessionKey = errors.New("bad session key")

// ParseSessionKey reads the text form. A nested sub-agent key from elsewhere
// (agent:a:subagent:x:subagent:y) is accepted; its last id is the key's.
func ParseSessionKey(s string) (SessionKey, error) {
	bad := func(why string) (SessionKey, error) {
		return SessionKey{}, fmt.Errorf("%w %q: %s", ErrBadSessionKey, s, why)
	}
	parts := strings.Split(s, ":")
	for i, p := range parts {
		v, err := unescapeKeyPart(p)
		if err != nil {
			return bad(err.Error())
		}
		parts[i] = v
	}
	if len(parts) < 3 || parts[0] != "agent" {
		return bad("it does not begin with agent:<id>:")
	}
	k := SessionKey{Agent: parts[1]}
	rest, thread := cutThread(parts[2:])
	if k.Thread = thread; thread == "" && len(rest) < len(parts)-2 {
		return bad("the thread is empty")
	}
	if !k.fill(rest) {
		return bad("its form is unknown")
	}
	if k.Thread != "" && (k.Kind == SessionSubagent || k.Kind == SessionCron || k.Kind == SessionDashboard) {
		return bad("a " + string(k.Kind) + " session has no thread")
	}
	if k.String() != s && k.Kind != SessionSubagent {
		return bad("it is ambiguous")
	}
	return k, nil
}

// cutThread splits a trailing ":thread:<t>" off. The parts before it must
// still be a whole key, which fill checks.
func cutThread(parts []string) ([]string, string) {
	n := len(parts)
	if n >= 3 && parts[n-2] == "thread" {
		return parts[:n-2], parts[n-1]
	}
	return parts, ""
}

// fill sets the kind and its parts; it reports whether rest has a known form.
func (k *SessionKey) fill(rest []string) bool {
	n := len(rest)
	switch {
	case n == 1 && rest[0] == "main":
		k.Kind = SessionMain
	case n == 4 && rest[2] == "group":
		k.Kind, k.Channel, k.Account, k.Peer = SessionGroup, rest[0], rest[1], rest[3]
	case n == 4 && rest[0] == "cron" && rest[2] == "run":
		k.Kind, k.Peer, k.Run = SessionCron, rest[1], rest[3]
	case n == 4 && rest[2] == "direct":
		k.Kind, k.Channel, k.Account, k.Peer = SessionDirect, rest[0], rest[1], rest[3]
	case n == 3 && rest[1] == "direct":
		k.Kind, k.Channel, k.Peer = SessionDirect, rest[0], rest[2]
	case n == 2 && rest[0] == "direct":
		k.Kind, k.Peer = SessionDirect, rest[1]
	case n >= 2 && n%2 == 0 && rest[0] == "subagent":
		for i := 0; i < n; i += 2 {
			if rest[i] != "subagent" {
				return false
			}
		}
		k.Kind, k.Peer = SessionSubagent, rest[n-1]
	case n == 2 && rest[0] == "dashboard":
		k.Kind, k.Peer = SessionDashboard, rest[1]
	default:
		return false
	}
	return true
}
