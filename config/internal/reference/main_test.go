package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
)

const root = "../../.."

func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := generate(root)
	require.NoError(t, err)
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "%s is stale: run go generate ./config", name)
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	docs, err := readComments(filepath.Join(root, "config"))
	require.NoError(t, err)
	var visit func(k *config.Key)
	visit = func(k *config.Key) {
		if k.Name != "" {
			require.NotEmpty(t, docs.of(k), "%s.%s has no comment", k.Struct, k.Field)
			require.Regexp(t, `^[A-Z].*\.$`, docs.of(k), "%s.%s: a comment is a sentence", k.Struct, k.Field)
		}
		for _, f := range k.Fields {
			visit(f)
		}
		if k.Elem != nil {
			visit(k.Elem)
		}
	}
	visit(config.Keys())
}
