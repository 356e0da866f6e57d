package threadbind

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// The capabilities of the channels, as their adapters state them.
func discordCaps() core.BindingCapabilities {
	return core.BindingCapabilities{Placements: []core.Placement{core.PlacementChild, core.PlacementCurrent}, TitleLimit: 100}
}

func threadedDirectCaps() core.BindingCapabilities { // matrix, console, webchat
	c := discordCaps()
	c.ThreadsInDirect = true
	return c
}

func forumCaps() core.BindingCapabilities { // telegram, in a forum group
	return core.BindingCapabilities{Placements: []core.Placement{core.PlacementCurrent, core.PlacementChild}, TitleLimit: 128}
}

func currentCaps() core.BindingCapabilities { // imessage; telegram elsewhere
	return core.BindingCapabilities{Placements: []core.Placement{core.PlacementCurrent}}
}

func noCaps() core.BindingCapabilities {
	return core.BindingCapabilities{Reason: "a broadcast channel"}
}

func TestPlace(t *testing.T) {
	const (
		current = string(core.PlacementCurrent)
		child   = string(core.PlacementChild)
		unbound = "unbound"
	)
	thread := team.InThread("T1")
	ownThread := core.Address{Channel: "fake", Account: "default", Conversation: "T1", Parent: "Team"}
	automatic := func(q *PlaceQuery) { q.Automatic = true }
	occupied := func(q *PlaceQuery) { q.Automatic, q.Occupied = true, true }
	noSpawn := func(q *PlaceQuery) { q.Settings.SpawnSessions = false }
	noSpawnAutomatic := func(q *PlaceQuery) { q.Automatic, q.Settings.SpawnSessions = true, false }
	configured := func(p core.Placement) func(q *PlaceQuery) { return func(q *PlaceQuery) { q.Placement = p } }
	both := func(a, b func(q *PlaceQuery)) func(q *PlaceQuery) { return func(q *PlaceQuery) { a(q); b(q) } }
	tests := []struct {
		name   string
		caps   core.BindingCapabilities
		kind   core.ConversationKind
		at     core.Address
		change func(q *PlaceQuery)
		want   string // a placement, unbound, or the code of the refusal
	}{
		{"discord, channel", discordCaps(), core.Group, team, nil, child},
		{"discord, thread: a sibling", discordCaps(), core.Group, ownThread, nil, child},
		{"discord, spawn", discordCaps(), core.Group, team, automatic, child},
		{"discord, spawn in a bound thread", discordCaps(), core.Group, ownThread, occupied, child},
		{"discord, direct", discordCaps(), core.Direct, team, nil, current},
		{"discord, direct, child wanted", discordCaps(), core.Direct, team, configured(core.PlacementChild), current},
		{"discord, spawn in a direct chat", discordCaps(), core.Direct, team, automatic, current},
		{"discord, spawn in a bound direct chat", discordCaps(), core.Direct, team, occupied, unbound},
		{"discord, current", discordCaps(), core.Group, team, configured(core.PlacementCurrent), current},
		{"discord, current, spawn in the channel", discordCaps(), core.Group, team, both(automatic, configured(core.PlacementCurrent)), unbound},
		{"discord, current, spawn in a thread", discordCaps(), core.Group, ownThread, both(automatic, configured(core.PlacementCurrent)), current},
		{"discord, current, spawn in a bound thread", discordCaps(), core.Group, ownThread, both(occupied, configured(core.PlacementCurrent)), unbound},

		{"matrix, room", threadedDirectCaps(), core.Group, team, nil, child},
		{"matrix, thread", threadedDirectCaps(), core.Group, thread, nil, child},
		{"console, direct", threadedDirectCaps(), core.Direct, team, nil, child},
		{"console, direct, current", threadedDirectCaps(), core.Direct, team, configured(core.PlacementCurrent), current},
		{"console, spawn in a thread", threadedDirectCaps(), core.Direct, thread, occupied, child},

		{"telegram, forum", forumCaps(), core.Group, team, nil, current},
		{"telegram, topic", forumCaps(), core.Group, thread, nil, current},
		{"telegram, forum, child", forumCaps(), core.Group, team, configured(core.PlacementChild), child},
		{"telegram, forum, spawn", forumCaps(), core.Group, team, automatic, unbound},
		{"telegram, topic, spawn", forumCaps(), core.Group, thread, automatic, current},
		{"telegram, bound topic, spawn", forumCaps(), core.Group, thread, occupied, unbound},
		{"telegram, forum, child, spawn", forumCaps(), core.Group, team, both(automatic, configured(core.PlacementChild)), child},
		{"telegram, group", currentCaps(), core.Group, team, nil, current},
		{"telegram, group, child", currentCaps(), core.Group, team, configured(core.PlacementChild), CodeNotBindable},
		{"telegram, direct", currentCaps(), core.Direct, team, nil, current},
		{"telegram, direct, child", currentCaps(), core.Direct, team, configured(core.PlacementChild), current},

		{"imessage, direct", currentCaps(), core.Direct, team, nil, current},
		{"imessage, direct, spawn", currentCaps(), core.Direct, team, automatic, current},
		{"imessage, group", currentCaps(), core.Group, team, nil, current},
		{"imessage, group, spawn", currentCaps(), core.Group, team, automatic, unbound},
		{"imessage, group, child", currentCaps(), core.Group, team, configured(core.PlacementChild), CodeNotBindable},
		{"imessage, group, child, spawn", currentCaps(), core.Group, team, both(automatic, configured(core.PlacementChild)), CodeNotBindable},

		{"nothing can be bound", noCaps(), core.Group, team, nil, CodeNotBindable},
		{"nothing can be bound, spawn", noCaps(), core.Group, team, automatic, CodeNotBindable},
		{
			"only threads, current wanted", core.BindingCapabilities{Placements: []core.Placement{core.PlacementChild}}, core.Group, team,
			configured(core.PlacementCurrent), CodeNotBindable,
		},

		{"no spawning, in the channel", discordCaps(), core.Group, team, noSpawn, CodeSpawnSessionsDisabled},
		{"no spawning, in a thread", discordCaps(), core.Group, ownThread, noSpawn, current},
		{"no spawning, child wanted in a thread", discordCaps(), core.Group, ownThread, both(noSpawn, configured(core.PlacementChild)), CodeSpawnSessionsDisabled},
		{"no spawning, current", discordCaps(), core.Group, team, both(noSpawn, configured(core.PlacementCurrent)), current},
		{"no spawning, telegram", forumCaps(), core.Group, team, noSpawn, current},
		{"no spawning, spawn in place", currentCaps(), core.Direct, team, noSpawnAutomatic, CodeSpawnSessionsDisabled},
		{"no spawning, spawn", discordCaps(), core.Group, team, noSpawnAutomatic, CodeSpawnSessionsDisabled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := PlaceQuery{Caps: tt.caps, Kind: tt.kind, At: tt.at, Placement: core.PlacementAuto, Settings: DefaultSettings()}
			if tt.change != nil {
				tt.change(&q)
			}
			got, err := Place(q)
			switch {
			case err != nil:
				require.Equal(t, tt.want, core.ErrorCode(err), err.Error())
				var refusal *core.Error
				require.ErrorAs(t, err, &refusal)
				require.NotEmpty(t, refusal.Remedy)
			case tt.want == unbound:
				require.Empty(t, got.Placement)
				require.NotEmpty(t, got.Unbound)
			default:
				require.Equal(t, Decision{Placement: core.Placement(tt.want)}, got)
			}
		})
	}
}

func TestPlaceNamesTheKey(t *testing.T) {
	q := PlaceQuery{Caps: discordCaps(), Kind: core.Group, At: team, Settings: DefaultSettings()}
	q.Settings.SpawnSessions = false
	_, err := Place(q)
	require.ErrorContains(t, err, "session.threadBindings.spawnSessions")
	q.Settings.SpawnSessionsKey = "channels.fake.threadBindings.spawnSessions"
	_, err = Place(q)
	require.ErrorContains(t, err, "channels.fake.threadBindings.spawnSessions")

	q.Caps = noCaps()
	_, err = Place(q)
	require.ErrorContains(t, err, "a broadcast channel")
}
