package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB401ALimitIsThatOfOneModel: a limit on one model of a credential leaves
// the others of it, and the same model under another one, as they are.
func TestB401ALimitIsThatOfOneModel(t *testing.T) {
	var c Cooldowns
	m1, m2, other := Key{"k", "m1"}, Key{"k", "m2"}, Key{"k2", "m1"}
	all := []Key{m1, m2, m1, other}
	require.Equal(t, []Key{m1, m2, other}, c.Order(all, 10), "without repetition")
	c.Note(m1, 100)
	require.Equal(t, []Key{m2, other, m1}, c.Order(all, 10))
	require.True(t, c.Cooling(m1, 99))
	require.False(t, c.Cooling(m2, 10))
	require.False(t, c.Cooling(other, 10))
	require.Equal(t, []Key{m1, m2, other}, c.Order(all, 100), "until then")

	c.Note(m1, 50)
	require.True(t, c.Cooling(m1, 60), "a shorter one does not end a longer one")
	c.Note(m2, 70)
	require.Equal(t, []Key{other, m2, m1}, c.Order(all, 10), "the first to be ready again first")
	c.Clear(m1)
	require.Equal(t, []Key{m1, other, m2}, c.Order(all, 10))
}
