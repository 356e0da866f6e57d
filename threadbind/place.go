package threadbind

import (
	"slices"

	"github.com/skein-bot/skein/core"
)

// PlaceQuery is what Place decides from.
type PlaceQuery struct {
	// Caps is what the adapter can do at At.
	Caps core.BindingCapabilities
	// Kind is the kind of the conversation At lies in.
	Kind core.ConversationKind
	// At is where the binding was asked for. It is inside a thread or topic if
	// it has a thread or a parent.
	At core.Address
	// Placement is what was asked for or configured; auto and "" leave the
	// choice to the adapter, whose first placement is its default.
	Placement core.Placement
	// Automatic is set for a spawn, where no person chose this place.
	Automatic bool
	// Occupied is set where a live binding holds At.
	Occupied bool
	// Settings answers whether sessions may be spawned, and names the keys.
	Settings Settings
}

// Decision is the answer of Place.
type Decision struct {
	// Placement is current or child; it is empty where the spawn must run
	// unbound.
	Placement core.Placement
	// Unbound says, where Placement is empty, why.
	Unbound string
}

// Place decides where a binding goes. It is pure. A refusal is a *core.Error
// with the code not_bindable or spawn_sessions_disabled.
//
//   - In a direct chat the place is the chat itself, except where the adapter
//     has threads in direct chats.
//   - Elsewhere it is what Placement says; auto is the adapter's default. A
//     child asked for inside a thread becomes its sibling.
//   - A spawn takes a current place only in a direct chat, topic or thread that
//     no live binding holds; elsewhere it runs unbound. It never replaces a
//     binding and never captures a whole group.
//   - Without spawnSessions no spawn binds and no thread is opened; /focus in
//     a thread then binds that thread.
func Place(q PlaceQuery) (Decision, error) {
	if len(q.Caps.Placements) == 0 {
		return Decision{}, refusePlace(q, "")
	}
	if q.Automatic && !q.Settings.SpawnSessions {
		return Decision{}, refuseSpawn(q.Settings)
	}
	want := q.wanted()
	switch {
	case !slices.Contains(q.Caps.Placements, want):
		return Decision{}, refusePlace(q, want)
	case want == core.PlacementChild && !q.Settings.SpawnSessions:
		return Decision{}, refuseSpawn(q.Settings)
	case want == core.PlacementCurrent && q.Automatic && q.Occupied:
		return Decision{Unbound: "another session is bound to this conversation"}, nil
	case want == core.PlacementCurrent && q.Automatic && q.Kind != core.Direct && !inThread(q.At):
		return Decision{Unbound: "a spawn does not take over a whole group"}, nil
	}
	return Decision{Placement: want}, nil
}

// wanted returns the placement before anything speaks against it.
func (q PlaceQuery) wanted() core.Placement {
	if q.Kind == core.Direct && !q.Caps.ThreadsInDirect {
		return core.PlacementCurrent
	}
	if q.Placement == core.PlacementCurrent || q.Placement == core.PlacementChild {
		return q.Placement
	}
	byDefault := q.Caps.Placements[0]
	if byDefault == core.PlacementChild && !q.Settings.SpawnSessions && inThread(q.At) &&
		slices.Contains(q.Caps.Placements, core.PlacementCurrent) {
		return core.PlacementCurrent // in place still works
	}
	return byDefault
}

// inThread tells whether an address lies inside a thread or topic.
func inThread(at core.Address) bool { return at.Thread != "" || at.Parent != "" }
