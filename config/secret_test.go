package config_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
)

const token = "s3cr3t-value"

// TestSecretNeverPrints tries every way in which a value could slip out.
func TestSecretNeverPrints(t *testing.T) {
	c := parse(t, `{
  models: { providers: { p: { type: "openai", apiKey: "`+token+`" } } },
  plugins: { entries: { x: { command: "c", secrets: { a: "$A", b: "pre-${B}-post" } } } },
  gateway: { http: { token: {source: "env", id: "C"} } },
  store: { url: "postgres://user:`+token+`@host/db?sslmode=disable&password=`+token+`" },
}`)
	require.NoError(t, c.ResolveSecrets(config.Options{Env: func(string) (string, bool) { return token, true }}))
	require.Equal(t, token, c.Models.Providers["p"].APIKey.Reveal())
	require.Equal(t, "pre-"+token+"-post", c.Plugins.Entries["x"].Secrets["b"].Reveal())
	require.Contains(t, c.Store.URL.Reveal(), token)

	type hidden struct{ secret config.Secret }
	s := config.NewSecret(token)
	values := []any{s, &s, c, *c, hidden{s}, []config.Secret{s}, map[string]config.Secret{"k": s}, c.Store.URL, errors.Join(fmt.Errorf("with %v", s))}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			require.NotContains(t, fmt.Sprintf(verb, v), token, "%s of %T", verb, v)
			require.NotContains(t, fmt.Sprintf(verb, v), fmt.Sprintf("%x", token), "%s of %T", verb, v)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		require.NotContains(t, log.String(), token)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NotContains(t, string(text), token)
	}
	text, err := xml.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(text), token)
	require.NotContains(t, config.Diff(config.Default(), c).String(), token)
	require.NotContains(t, s.Origin(), token)
}

func TestSecretForms(t *testing.T) {
	tests := []struct {
		written string
		source  config.SecretSource
		json    string
		value   string
	}{
		{`"$NAME"`, config.SecretEnv, `"$NAME"`, "of NAME"},
		{`"${NAME}"`, config.SecretEnv, `"$NAME"`, "of NAME"},
		{`{source: "env", id: "NAME"}`, config.SecretEnv, `"$NAME"`, "of NAME"},
		{`{source: "file", id: "/run/key"}`, config.SecretFile, `{"id":"/run/key","source":"file"}`, "of /run/key"},
		{`{source: "exec", id: "pass  show\tkey"}`, config.SecretExec, `{"id":"pass show key","source":"exec"}`, "of pass show key"},
		{`"x${NAME}y"`, config.SecretTemplate, `"***"`, "xof NAMEy"},
		{`"plain"`, config.SecretLiteral, `"***"`, "plain"},
		{`"$$NAME"`, config.SecretLiteral, `"***"`, "$NAME"},
		{`"$not a name"`, config.SecretLiteral, `"***"`, "$not a name"},
		{`""`, "", `""`, ""},
	}
	for _, tt := range tests {
		c := parse(t, `{ models: { providers: { p: { type: "openai", apiKey: `+tt.written+` } } } }`)
		s := c.Models.Providers["p"].APIKey
		require.Equal(t, tt.source, s.Source(), tt.written)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		require.Equal(t, tt.json, string(text), tt.written)
		require.NoError(t, c.ResolveSecrets(config.Options{
			Env:        func(name string) (string, bool) { return "of " + name, true },
			ReadFile:   func(name string) ([]byte, error) { return []byte("of " + name + "\r\n"), nil },
			RunProgram: func(line string) ([]byte, error) { return []byte("of " + line + "\n"), nil },
		}))
		require.Equal(t, tt.value, s.Reveal(), tt.written)
		require.Equal(t, tt.value != "", s.IsResolved(), tt.written)
	}
}

// TestResolveIsAllOrNothing names every missing secret and sets none.
func TestResolveIsAllOrNothing(t *testing.T) {
	src := `{
  models: { providers: {
    good: { type: "openai", apiKey: "$GOOD" },
    gone: { type: "openai", apiKey: "$GONE" },
    empty: { type: "openai", apiKey: "$EMPTY" },
    file: { type: "openai", apiKey: { source: "file", id: "key.txt" } },
    exec: { type: "openai", apiKey: { source: "exec", id: "pass" } },
    text: { type: "openai", apiKey: "a-${GONE}" },
  } },
  channels: {
    telegram: { token: "$GONE" },
    discord: { enabled: false, token: "$GONE" },
    matrix: { accounts: { off: { enabled: false, homeserver: "https://hs", accessToken: "$GONE" } } },
  },
  plugins: { entries: { off: { command: "c", enabled: false, secrets: { k: "$GONE" } } } },
}`
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"GOOD": "g", "EMPTY": ""}[name]
		return v, ok
	}
	opts := config.Options{
		Env: env, Built: config.AllParts(),
		ReadFile: func(name string) ([]byte, error) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
		RunProgram: func(string) ([]byte, error) { return nil, errors.New("exit status 1: no such entry") },
	}
	c, _, err := config.Parse("dir/skein.json5", []byte(src), opts)
	require.NoError(t, err)
	err = c.ResolveSecrets(opts)
	var problems config.InvalidError
	require.ErrorAs(t, err, &problems)
	require.Equal(t, `dir/skein.json5:4:37: models.providers.gone.apiKey: the environment variable GONE is not set (set it, for example export GONE=...)
dir/skein.json5:5:38: models.providers.empty.apiKey: the secret from env EMPTY is empty
dir/skein.json5:6:37: models.providers.file.apiKey: the secret file dir/key.txt cannot be read: open dir/key.txt: file does not exist
dir/skein.json5:7:37: models.providers.exec.apiKey: the secret program pass failed: exit status 1: no such entry (run it by hand as the user that runs skein)
dir/skein.json5:8:37: models.providers.text.apiKey: the environment variable GONE is not set (set it, for example export GONE=...)
dir/skein.json5:11:24: channels.telegram.token: the environment variable GONE is not set (set it, for example export GONE=...)`, err.Error())
	require.False(t, c.Models.Providers["good"].APIKey.IsResolved())

	opts.Built = nil
	c, warnings, err := config.Parse("dir/skein.json5", []byte(src), opts)
	require.NoError(t, err)
	require.Contains(t, warnings.String(), "channels.telegram: not in this build: telegram")
	require.NotContains(t, c.ResolveSecrets(opts).Error(), "telegram", "what is not built needs no secrets")
}

// TestASecretFromAProgram runs real ones.
func TestASecretFromAProgram(t *testing.T) {
	dir := t.TempDir()
	write := func(name, script string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // a program must be executable
	}
	write("good", `printf 'key-%s-%s\n' "$1" "$2"`)
	write("bad", `echo "no such   entry" >&2; exit 3`)
	write("silent", `true`)
	write("much", `head -c 2000000 /dev/zero; true`)
	for id, want := range map[string]string{
		"./good a $b":     "key-a-$b",
		"./bad":           "the secret program " + dir + "/bad failed: exit status 3: no such entry",
		"./silent":        "is empty",
		"./much":          "it printed more than 1 MiB",
		"./none":          "no such file or directory",
		"skein-none here": "executable file not found",
		"   ":             "it names no program",
	} {
		c, _, err := config.Parse(filepath.Join(dir, "skein.json5"),
			[]byte(`{ models: { providers: { p: { type: "openai", apiKey: {source: "exec", id: "`+id+`"} } } } }`), config.Options{})
		if err == nil {
			err = c.ResolveSecrets(config.Options{})
		}
		if err != nil {
			require.ErrorContains(t, err, want)
			continue
		}
		require.Equal(t, want, c.Models.Providers["p"].APIKey.Reveal())
	}
}
