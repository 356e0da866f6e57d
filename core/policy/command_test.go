package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestSender(t *testing.T) {
	require.Equal(t, "telegram:1", Sender("telegram", core.Author{ID: "1", Name: "alice"}))
	require.Equal(t, "matrix:@a:hs", Sender("matrix", core.Author{ID: "@a:hs"}))
	require.Empty(t, Sender("telegram", core.Author{Name: "alice"}))
	require.Empty(t, Sender("", core.Author{ID: "1"}))
}

func TestCommandAllowed(t *testing.T) {
	owners := []string{"telegram:1"}
	tests := []struct {
		name           string
		sender         string
		owners, allow  []string
		owner, allowed bool
	}{
		{"owner", "telegram:1", owners, []string{}, true, true},
		{"everybody admitted", "telegram:2", owners, nil, false, true},
		{"listed", "telegram:2", owners, []string{"telegram:2"}, false, true},
		{"not listed", "telegram:3", owners, []string{"telegram:2"}, false, false},
		{"nobody", "telegram:3", nil, []string{}, false, false},
		{"listed by *", "telegram:3", owners, []string{"*"}, false, true},
		{"owners by *", "telegram:3", []string{"*"}, []string{}, true, true},
		{"no sender", "", []string{"*"}, nil, false, false},
		{"no id", "telegram:", []string{"*", "telegram:"}, []string{"telegram:"}, false, false},
		{"no channel", ":1", []string{":1"}, nil, false, false},
		{"the same id on another channel", "webchat:1", owners, []string{}, false, false},
		{"an id that imitates an owner", "webchat:telegram:1", owners, []string{}, false, false},
		{"a bare id names nobody", "telegram:1", []string{"1"}, []string{"1"}, false, false},
		{"case counts", "matrix:@A:hs", []string{"matrix:@a:hs"}, []string{}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.owner, IsOwner(tt.sender, tt.owners))
			require.Equal(t, tt.allowed, CommandAllowed(tt.sender, tt.owners, tt.allow))
		})
	}
}
