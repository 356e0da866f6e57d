package app

import (
	"fmt"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/words"
)

// CodeCredentialMissing is the code of an agent that may use none but its own
// credentials and has none for a model.
const CodeCredentialMissing = "credential_missing"

// ownKey names a provider as one agent reaches it with its own credential.
type ownKey struct{ agent, provider string }

// addOwn makes the providers that agents have credentials of their own for
// (agents.entries.<id>.auth). Those that did not change are taken from prev.
func (a *App) addOwn(l, prev *snapshot) error {
	for id, entry := range l.cfg.Agents.Entries {
		for name, auth := range entry.Auth.Providers {
			p, known := l.cfg.Models.Providers[name]
			if !known || auth.APIKey.IsZero() {
				continue
			}
			p.APIKey = auth.APIKey
			key, was := ownKey{id, name}, provider{}
			if prev != nil {
				was = prev.own[key]
			}
			x, err := a.provider(name, p, was)
			if err != nil {
				return fmt.Errorf("agents.entries.%s.auth.providers.%s: %w", id, name, err)
			}
			l.own[key] = x
		}
	}
	return nil
}

// ways returns how an agent may ask a model: with its own credential, and
// unless it is isolated with the shared one. A provider without a shared
// credential needs none, so an agent without one of its own may use it in any
// case.
func (l *snapshot) ways(agentID, ref string) (out []agent.Way, err error) {
	name, p, m, err := l.model(ref)
	if err != nil {
		return nil, err
	}
	auth := l.cfg.Agents.Entries[agentID].Auth
	if own, made := l.own[ownKey{agentID, name}]; made {
		p := p
		p.APIKey = auth.Providers[name].APIKey
		out = append(out, agent.Way{Provider: own.Provider, ID: m.ID, Key: model.Key{Credential: credential(name, p), Model: m.ID}, Own: true})
	}
	shared, keyed := agent.Way{Provider: l.providers[name].Provider, ID: m.ID, Key: model.Key{Credential: credential(name, p), Model: m.ID}}, !p.APIKey.IsZero()
	switch {
	case keyed && auth.Mode != config.AuthIsolated, !keyed && len(out) == 0:
		out = append(out, shared)
	case len(out) == 0:
		return nil, words.RefuseCredentialMissing(CodeCredentialMissing, agentID, name)
	}
	return out, nil
}
