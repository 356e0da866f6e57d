package config_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

func TestSpreadAccounts(t *testing.T) {
	tests := []struct{ src, want string }{
		{`{}`, `{}`},
		{`{ channels: 1 }`, `{"channels":1}`},
		{`{ channels: { telegram: [], console: { dmPolicy: "open" } } }`, `{"channels":{"telegram":[],"console":{"dmPolicy":"open"}}}`},
		{`{ channels: { telegram: { token: "$T", name: "n", dmPolicy: "open" } } }`,
			`{"channels":{"telegram":{"dmPolicy":"open","accounts":{"default":{"token":"$T","name":"n"}}}}}`},
		{`{ channels: { telegram: { token: "$T", accounts: {} } } }`, `{"channels":{"telegram":{"token":"$T","accounts":{}}}}`},
	}
	for _, tt := range tests {
		tree, err := json5.Parse("f", []byte(tt.src))
		require.NoError(t, err)
		config.SpreadAccounts(tree)
		text, err := json.Marshal(tree)
		require.NoError(t, err)
		require.JSONEq(t, tt.want, string(text))
	}
}

// TestSpreadKeepsPositions lays an account over one that was written directly.
func TestSpreadKeepsPositions(t *testing.T) {
	written, err := json5.Parse("mine", []byte("{ channels: { telegram: {\n  webhok: true,\n  apiRoot: 5,\n} } }"))
	require.NoError(t, err)
	config.SpreadAccounts(written)
	harness, err := json5.Parse("<harness>", []byte(`{ channels: { telegram: { accounts: { default: { token: "t" } } } } }`))
	require.NoError(t, err)
	_, _, err = config.Decode(json5.Merge(written, harness), config.Options{})
	require.EqualError(t, err, `mine:2:3: channels.telegram.webhok: unknown key (did you mean webhook?)
mine:3:12: channels.telegram.accounts.default.apiRoot: expected a string, found 5 (put quotes around it)`)
}
