package threadbind

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestIndex(t *testing.T) {
	x := NewIndex(0)
	place := team.InThread("T1").Place()
	_, ok := x.Lookup(place)
	require.False(t, ok)
	x.Put(place, "b1")
	x.Put(place, "b2")
	x.Remove(place, "b1")
	id, ok := x.Lookup(place)
	require.True(t, ok, "the end of an older binding does not hide the newer")
	require.Equal(t, "b2", id)
	x.Remove(place, "b2")
	require.Zero(t, x.Len())
}

// BenchmarkIndex shows a flat curve: a lookup in a million places costs what
// it costs in a thousand, but for the caches of the machine.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		x := NewIndex(n)
		places := make([]core.Place, n)
		for i := range places {
			places[i] = core.Place{Channel: "fake", Account: "default", Conversation: "Team", Thread: fmt.Sprintf("%019d", i)}
			x.Put(places[i], places[i].Thread)
		}
		missing := core.Place{Channel: "fake", Account: "default", Conversation: "Team", Thread: "none"}
		b.Run(fmt.Sprintf("hit/%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, ok := x.Lookup(places[i]); !ok {
					b.Fatal("lost")
				}
				i = (i + 7919) % n // not the one the cache holds
			}
		})
		b.Run(fmt.Sprintf("miss/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, ok := x.Lookup(missing); ok {
					b.Fatal("invented")
				}
			}
		})
	}
}
