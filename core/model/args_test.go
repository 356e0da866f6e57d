package model_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

func TestArguments(t *testing.T) {
	for raw, want := range map[string]string{
		``:                          `{}`,
		"  \n":                      `{}`,
		`null`:                      `{}`,
		` {"a": 1.50} `:             `{"a": 1.50}`,
		`{"a":"<b>"}`:               `{"a":"<b>"}`,
		`{"a":"x\u0000y","n":1e99}`: "{\"a\":\"x\uFFFDy\",\"n\":1e99}",
		`{"a\u0000":["\u0000"]}`:    "{\"a\uFFFD\":[\"\uFFFD\"]}",
		`[1]`:                       `"[1]"`,
		`"[1]"`:                     `"[1]"`,
		`"{\"a\":1}"`:               `{"a":1}`,
		`"\"x\""`:                   `"\"x\""`,
		`{"a":`:                     `"{\"a\":"`,
		`<b>`:                       `"<b>"`,
		"{\"a\":\"\xff\"}":          "{\"a\":\"\uFFFD\"}",
	} {
		require.Equal(t, want, string(model.Arguments(raw)), "%q", raw)
	}
}

func TestBadArgs(t *testing.T) {
	for raw, bad := range map[string]bool{``: false, `{"a":1}`: false, `[1]`: true, `{"a":`: true, `x`: true} {
		got, is := model.BadArgs(core.ToolCall{Args: model.Arguments(raw)})
		require.Equal(t, bad, is, raw)
		if bad {
			require.Equal(t, raw, got)
		}
	}
	raw, bad := model.BadArgs(core.ToolCall{Args: json.RawMessage(`{"a`)})
	require.True(t, bad)
	require.Equal(t, `{"a`, raw)
}

func TestArgumentsAreAlwaysStorable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.String(), rapid.StringMatching(`"?\{"(a|\\u0000|b)":("x\\u0000"|[0-9]+|null)\}`)).Draw(t, "raw")
		args := model.Arguments(raw)
		require.True(t, json.Valid(args))
		require.True(t, utf8.Valid(args))
		require.NotContains(t, string(args), "\x00")
		require.Equal(t, args, model.Arguments(string(args)), "the second time changes nothing")
	})
}
