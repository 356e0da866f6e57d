package convtest

import (
	"strings"
	"testing"
)

// File plays one script as part of a Go test, and fails the test with the
// script's report. Without options it uses the console and app.New; the first
// of options replaces that, except for its Paths and Out.
func File(t testing.TB, path string, options ...Options) {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	o.Paths = []string{path}
	out := new(strings.Builder)
	o.Out = out
	sum, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if sum.ExitCode() != 0 {
		t.Fatal("\n" + out.String())
	}
	if o.Verbose {
		t.Log("\n" + out.String())
	}
}
