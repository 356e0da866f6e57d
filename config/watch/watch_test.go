package watch_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/watch"
	"github.com/skein-bot/skein/core/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig watches files in a folder of the real system, in virtual time.
type rig struct {
	*testing.T
	dir     string
	clock   *clock.Virtual
	watcher *watch.Watcher
	changes atomic.Int32
	seen    atomic.Value // the content at the last change
}

// uncounted is for a clock whose work nobody waits for.
type uncounted struct{}

func (uncounted) Add(int) {}

func newRig(t *testing.T, files map[string]string, watched ...string) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), clock: clock.NewVirtual(time.Unix(0, 0), uncounted{})}
	for name, content := range files {
		r.write(name, content)
	}
	var paths []string
	for _, name := range watched {
		paths = append(paths, r.path(name))
	}
	var err error
	r.watcher, err = watch.Start(watch.Options{Files: paths, Clock: r.clock, Log: slog.New(slog.DiscardHandler), Changed: func() {
		r.changes.Add(1)
		r.seen.Store(r.content())
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.watcher.Close()) })
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, content string) {
	r.Helper()
	require.NoError(r, os.MkdirAll(filepath.Dir(r.path(name)), 0o700))
	if f, err := os.OpenFile(r.path(name), os.O_WRONLY, 0); err == nil { // one event: contents are of one length
		_, err = f.WriteString(content)
		require.NoError(r, errors.Join(err, f.Close()))
		return
	}
	require.NoError(r, os.WriteFile(r.path(name)+".new", []byte(content), 0o600))
	require.NoError(r, os.Rename(r.path(name)+".new", r.path(name)))
}

// content is that of the files a and sub/b together.
func (r *rig) content() string {
	a, _ := os.ReadFile(r.path("a"))
	b, _ := os.ReadFile(r.path("sub/b"))
	return string(a) + "|" + string(b)
}

// tells lets time pass until a change to this content was told.
func (r *rig) tells(content string) {
	r.Helper()
	require.Eventually(r, func() bool {
		r.clock.AdvanceTo(r.clock.Now().Add(watch.Settle))
		seen, _ := r.seen.Load().(string)
		return seen == content
	}, 10*time.Second, 2*time.Millisecond, "%s", content)
}

// noticed waits until the watcher has seen an event after a moment.
func (r *rig) noticed(since time.Time) {
	r.Helper()
	require.Eventually(r, func() bool {
		due, ok := r.clock.Next()
		return ok && !due.Before(since.Add(watch.Settle))
	}, 10*time.Second, time.Millisecond)
}

// settles lets the time pass that the watcher waits, and expects so many
// changes told in all.
func (r *rig) settles(changes int32) {
	r.Helper()
	r.noticed(r.clock.Now())
	r.clock.AdvanceTo(r.clock.Now().Add(watch.Settle))
	require.Eventually(r, func() bool {
		_, waits := r.clock.Next()
		return r.changes.Load() == changes && !waits
	}, 10*time.Second, time.Millisecond)
}

// TestB347_HalfAFileIsNotTold: it is written in two parts, 200 ms apart.
func TestB347_HalfAFileIsNotTold(t *testing.T) {
	r := newRig(t, map[string]string{"skein.json5": "{}"}, "skein.json5")
	f, err := os.OpenFile(r.path("skein.json5"), os.O_WRONLY|os.O_TRUNC, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{ agents: { defaults: `)
	require.NoError(t, err)
	r.noticed(r.clock.Now())
	r.clock.AdvanceTo(r.clock.Now().Add(200 * time.Millisecond))
	_, err = f.WriteString(`{ maxSteps: 5 } } }`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r.noticed(r.clock.Now())
	r.clock.AdvanceTo(r.clock.Now().Add(watch.Settle - time.Millisecond))
	require.Zero(t, r.changes.Load(), "not before it was left alone")
	r.clock.AdvanceTo(r.clock.Now().Add(time.Millisecond))
	require.Eventually(t, func() bool { return r.changes.Load() == 1 }, 10*time.Second, time.Millisecond)
}

// TestNoPartOfAConfigurationIsAnother: what a watcher may read of a file that
// is being written is refused, or means the same.
func TestNoPartOfAConfigurationIsAnother(t *testing.T) {
	whole := "// }\n{ agents: { defaults: { maxSteps: 5, model: '}' }, /* } */ }, limits: {} } // end\n"
	complete := len(whole) - len(" // end\n")
	all, err := config.ParseTree("<whole>", []byte(whole), config.Options{})
	require.NoError(t, err)
	for n := range whole {
		part, err := config.ParseTree("<part>", []byte(whole[:n]), config.Options{})
		if n < complete {
			require.Error(t, err, whole[:n])
		} else if err == nil {
			require.Equal(t, all.Tree.Interface(), part.Tree.Interface(), whole[:n])
		}
	}
}

// TestHowFilesChange: everything that editors and orchestrators do.
func TestHowFilesChange(t *testing.T) {
	type step struct {
		do   func(r *rig)
		then string // the content of both files
	}
	rename := func(r *rig, from, to string) { require.NoError(r, os.Rename(r.path(from), r.path(to))) }
	link := func(r *rig, target, name string) { require.NoError(r, os.Symlink(target, r.path(name))) }
	for _, tt := range []struct {
		name   string
		before func(r *rig)
		steps  []step
	}{
		{"written in place, twice", nil, []step{
			{func(r *rig) { r.write("a", "2") }, "2|"}, {func(r *rig) { r.write("a", "3") }, "3|"},
		}},
		{"replaced by a rename, twice", nil, []step{
			{func(r *rig) { r.write(".a.tmp", "2"); rename(r, ".a.tmp", "a") }, "2|"},
			{func(r *rig) { r.write(".a.tmp", "3"); rename(r, ".a.tmp", "a") }, "3|"},
		}},
		{"moved away and written anew", nil, []step{
			{func(r *rig) { rename(r, "a", "a~"); r.write("a", "2") }, "2|"}, {func(r *rig) { r.write("a", "3") }, "3|"},
		}},
		{"deleted, and there again", nil, []step{
			{func(r *rig) { require.NoError(r, os.Remove(r.path("a"))) }, "|"}, {func(r *rig) { r.write("a", "3") }, "3|"},
		}},
		{"an included file that appears", nil, []step{
			{func(r *rig) { r.write("sub/b", "2") }, "1|2"}, {func(r *rig) { r.write("sub/b", "3") }, "1|3"},
		}},
		{"a config map", func(r *rig) {
			require.NoError(r, os.Remove(r.path("a")))
			r.write("..1/a", "1")
			link(r, "..1", "..data")
			link(r, filepath.Join("..data", "a"), "a")
		}, []step{
			{func(r *rig) {
				r.write("..2/a", "2")
				link(r, "..2", "..tmp")
				rename(r, "..tmp", "..data")
				require.NoError(r, os.RemoveAll(r.path("..1")))
			}, "2|"},
			{func(r *rig) { r.write("..2/a", "3") }, "3|"},
		}},
		{"the folder of an included file, replaced", func(r *rig) { r.write("sub/b", "1") }, []step{
			{func(r *rig) { rename(r, "sub", "old") }, "1|"},
			{func(r *rig) { r.write("new/b", "2"); rename(r, "new", "sub") }, "1|2"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a": "1"})
			if tt.before != nil {
				tt.before(r)
			}
			r.watcher.Set([]string{r.path("a"), r.path("sub/b")})
			for _, step := range tt.steps {
				step.do(r)
				r.tells(step.then)
			}
		})
	}
}

// TestOtherFilesAreNotTold: a neighbour, and a file that is written without
// another content.
func TestOtherFilesAreNotTold(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1"}, "a")
	r.write("skein.db", "x")
	r.write("a", "1")
	r.settles(0)
	r.watcher.Set(nil)
	r.write("a", "2")
	r.watcher.Set([]string{r.path("a")})
	r.write("a", "3")
	r.settles(1)
}
