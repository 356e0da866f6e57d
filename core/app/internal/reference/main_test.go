package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../../../.."

func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := generate(root)
	require.NoError(t, err)
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "%s is stale: run go generate ./core/app", name)
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	docs, err := readComments(filepath.Join(root, "core", "app"))
	require.NoError(t, err)
	s := &schemas{docs: docs}
	for _, view := range listed() {
		require.NotEmpty(t, docs[typeName(view.typ)], view.typ)
		for _, m := range s.members(view.typ) {
			require.Regexp(t, `^[A-Z][\s\S]*\.$`, m.doc, "%s, field %s: a comment is a sentence", view.typ, m.name)
		}
	}
}

func TestReplaceFieldsNeedsItsMarks(t *testing.T) {
	_, err := replaceFields([]byte("# a page\n"), nil)
	require.ErrorContains(t, err, "has lost the marks")
	page, err := replaceFields([]byte("a\n"+fieldsBegin+"old\n"+fieldsEnd+"b\n"), []byte("new\n"))
	require.NoError(t, err)
	require.Equal(t, "a\n"+fieldsBegin+"new\n"+fieldsEnd+"b\n", string(page))
}
