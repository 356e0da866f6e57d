// Package watch tells when the content of a set of files has changed.
//
// It watches folders, not files, so that it notices a file that an editor
// replaces by renaming another one over it, a symbolic link that is pointed
// elsewhere (as Kubernetes does with config maps), and a file that appears
// later. It tells nothing before the files have been left alone for a while: a
// file that is written in several parts is read once, whole. What is told is a
// change of content; a touched file is none.
//
// A writer that pauses for longer than that inside one file does no harm either.
// A configuration ends with the bracket that its first character opened, so a
// part of one either does not parse, and is refused, or lacks nothing but
// comments.
package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/skein-bot/skein/core"
)

// Settle is how long files must be left alone before a change is told.
const Settle = 500 * time.Millisecond

// Options make a Watcher. All fields are required.
type Options struct {
	// Files are the first files to watch; they need not exist.
	Files []string
	Clock core.Clock
	Log   *slog.Logger
	// Changed is called in the watcher's goroutine after the content of a file
	// has changed. It may call Set.
	Changed func()
}

// Watcher watches files. Create it with Start, end it with Close.
type Watcher struct {
	o    Options
	fs   *fsnotify.Watcher
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	files   map[string]sum      // what was seen of each file
	places  map[string][]string // the names of interest in each folder
	watched map[string]bool     // the folders that are being watched
}

// sum stands for the content of a file, or for the reason that there is none.
type sum string

// Start begins to watch. The error says why the system cannot watch at all; a
// folder that cannot be watched is logged.
func Start(o Options) (*Watcher, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("files cannot be watched: %w", err)
	}
	w := &Watcher{
		o: o, fs: fs, quit: make(chan struct{}), done: make(chan struct{}),
		files: make(map[string]sum), watched: make(map[string]bool),
	}
	w.Set(o.Files)
	go w.run()
	return w, nil
}

// Set replaces the files to watch. The content of those that are new is taken as
// known.
func (w *Watcher) Set(files []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.files
	w.files = make(map[string]sum, len(files))
	for _, name := range files {
		w.files[name] = known[name]
	}
	w.follow()
	for name, s := range w.files { // after the folders are watched: nothing is missed
		if s == "" {
			w.files[name] = read(name)
		}
	}
}

// Close ends the watcher and waits for a Changed that is running.
func (w *Watcher) Close() error {
	close(w.quit)
	<-w.done
	return w.fs.Close()
}

func (w *Watcher) run() {
	defer close(w.done)
	timer := w.o.Clock.NewTimer(Settle)
	timer.Stop()
	defer func() { timer.Stop() }()
	for {
		select {
		case e := <-w.fs.Events:
			if !w.concerns(e) {
				continue
			}
		case err := <-w.fs.Errors: // events were lost: look at everything
			w.o.Log.Debug("watching files", "error", err)
		case <-timer.C():
			if w.look() {
				w.o.Changed()
			}
			continue
		case <-w.quit:
			return
		}
		timer.Stop()
		timer = w.o.Clock.NewTimer(Settle)
	}
}

// concerns tells whether an event is about a file of the set, a link on the way
// to one, or a watched folder itself.
func (w *Watcher) concerns(e fsnotify.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched[e.Name] {
		return e.Has(fsnotify.Remove | fsnotify.Rename)
	}
	return slices.Contains(w.places[filepath.Dir(e.Name)], filepath.Base(e.Name))
}

// look tells whether any content differs from what was seen.
func (w *Watcher) look() (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follow()
	for name, before := range w.files {
		now := read(name)
		changed = changed || now != before
		w.files[name] = now
	}
	return changed
}

// follow watches the folders on the way to the files as they are now.
func (w *Watcher) follow() {
	w.places = make(map[string][]string)
	for name := range w.files {
		for _, p := range placesOf(name) {
			w.places[p.folder] = append(w.places[p.folder], p.name)
		}
	}
	for folder := range maps.Clone(w.watched) {
		if w.places[folder] == nil {
			if err := w.fs.Remove(folder); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
				w.o.Log.Debug("a folder is watched in vain", "folder", folder, "error", err)
			}
			delete(w.watched, folder)
		}
	}
	alive := w.fs.WatchList() // without those that were deleted
	for folder := range w.places {
		if slices.Contains(alive, folder) {
			continue
		}
		if err := w.fs.Add(folder); err != nil {
			w.o.Log.Warn("a folder cannot be watched; changes in it are noticed at the next reload only", "folder", folder, "error", err)
			continue
		}
		w.watched[folder] = true
	}
}

// read returns the sum of a file's content.
func read(name string) sum {
	content, err := os.ReadFile(name)
	if err != nil {
		return sum("none: " + err.Error())
	}
	return sum(fmt.Sprintf("%x", sha256.Sum256(content)))
}

// place is a name in a folder.
type place struct{ folder, name string }

// maxLinks bounds how many symbolic links lead to a file.
const maxLinks = 40

// placesOf returns every place at which a change may lead to another content of
// a file: the links on the way to it, and the file or what is missing first.
func placesOf(name string) (out []place) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil
	}
	for range maxLinks {
		at, next := firstLink(name)
		out = append(out, at)
		if next == "" {
			return out
		}
		name = next
	}
	return out
}

// firstLink returns the first link on the way to a file, with the path that it
// leads to; without one, where the file is, or would be.
func firstLink(name string) (at place, next string) {
	folder := filepath.VolumeName(name) + string(filepath.Separator)
	steps := strings.Split(strings.TrimPrefix(name, folder), string(filepath.Separator))
	for i, step := range steps {
		at = place{folder, step}
		path := filepath.Join(folder, step)
		info, err := os.Lstat(path)
		if err != nil {
			return at, ""
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			if err != nil {
				return at, ""
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(folder, target)
			}
			return at, filepath.Join(append([]string{target}, steps[i+1:]...)...)
		}
		folder = path
	}
	return at, ""
}
