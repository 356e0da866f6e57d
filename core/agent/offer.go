package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// readOffers asks the tool policy which tools each model of the turn may be
// offered: rules may differ by provider. Where the policy leaves the turn's own
// model none of the tools that the agent needs, that is the end of the turn;
// such a fallback is not asked.
func (t *turn) readOffers(ctx context.Context) error {
	scope := Scope{Agent: t.def.ID, Session: t.l.Session, Turn: t.l.Turn, Run: t.run, Child: t.child}
	t.offers = make(map[string]Offer)
	for i, ref := range t.modelRefs() {
		scope.Model = ref
		offer, err := t.r.opts.Catalogue.Tools(ctx, scope)
		switch {
		case err == nil:
			t.offers[ref] = offer
		case i == 0:
			return err
		default:
			t.r.opts.Log.Warn("a fallback is not asked", "model", ref, "session", t.l.Session.Key, "error", err)
		}
	}
	t.offer = t.offers[t.modelRef()]
	return nil
}

// offered reports whether the policy left the tool to this turn.
func (t *turn) offered(name string) bool {
	return slices.ContainsFunc(t.offer.Tools, func(s core.ToolSpec) bool { return s.Name == name })
}

// notOffered says why a tool that was not offered cannot be called.
func (t *turn) notOffered(name string) error {
	for _, r := range t.offer.Removed {
		if r.Tool == name {
			return core.Errorf("tool_denied", "%q is not allowed here, it was removed by %s (%s); available: %s", name, r.Stage, r.Rule(), t.toolNames())
		}
	}
	return core.Errorf("tool_unknown", "there is no tool %q here; available: %s", name, t.toolNames())
}

func (t *turn) toolNames() string {
	names := make([]string, len(t.offer.Tools))
	for i, s := range t.offer.Tools {
		names[i] = s.Name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
