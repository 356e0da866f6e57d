package app

import (
	"net/http"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// NotifyRequest is the body of POST /tasks/{id}/notify.
type NotifyRequest struct {
	// What people are told from now on: done_only, state_changes or silent.
	Policy core.Notify `json:"policy"`
}

func (s api) tasks(r *http.Request) ([]TaskView, error) {
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	f := TaskFilter{Agent: r.URL.Query().Get("agent")}
	if f.Status, err = oneOf(r, "status", core.TaskStatuses()); err != nil {
		return nil, err
	}
	if f.Runtime, err = oneOf(r, "runtime", core.RunKinds()); err != nil {
		return nil, err
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]TaskView, error) { return v.Tasks(tx, f, n) })
}

// oneOf returns a word of the query string, "" if it is not there.
func oneOf[T ~string](r *http.Request, name string, known []T) (T, error) {
	word := T(r.URL.Query().Get(name))
	if word == "" {
		return word, nil
	}
	return word, knownWord(name, word, known)
}

func knownWord[T ~string](name string, word T, known []T) error {
	if slices.Contains(known, word) {
		return nil
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return core.Errorf("bad_request", "%s is %q, which is none of its words", name, string(word)).WithRemedy("use one of: %s", strings.Join(words, ", "))
}

func (s api) cancelTask(r *http.Request) (StopView, error) {
	return write(s, r, func(_ Views, tx *store.Tx) (StopView, error) {
		run, err := findTask(tx, ref(r))
		switch {
		case err != nil:
			return StopView{}, err
		case !run.Status.Live():
			return StopView{}, core.Errorf("task_state", "the task %q has ended: %s", run.Name(), run.Status.Task())
		}
		return stopView(s.live.engine.StopRun(tx, run))
	})
}

func (s api) notifyTask(r *http.Request) (TaskView, error) {
	var req NotifyRequest
	if err := decodeBody(r, &req); err != nil {
		return TaskView{}, err
	}
	if err := knownWord("policy", req.Policy, core.NotifyPolicies()); err != nil {
		return TaskView{}, err
	}
	return s.changeTask(r, func(tx *store.Tx, run core.Run) error { return s.live.engine.SetNotify(tx, run, req.Policy) })
}

func (s api) retryTask(r *http.Request) (TaskView, error) {
	return s.changeTask(r, func(tx *store.Tx, run core.Run) error { return s.live.engine.Retry(tx, run.TaskID) })
}

func (s api) dismissTask(r *http.Request) (TaskView, error) {
	return s.changeTask(r, func(tx *store.Tx, run core.Run) error { return s.live.engine.Dismiss(tx, run.TaskID) })
}

// changeTask does something to a task and shows it.
func (s api) changeTask(r *http.Request, do func(tx *store.Tx, run core.Run) error) (TaskView, error) {
	return write(s, r, func(v Views, tx *store.Tx) (TaskView, error) {
		run, err := findTask(tx, ref(r))
		if err != nil {
			return TaskView{}, err
		}
		if err := do(tx, run); err != nil {
			return TaskView{}, err
		}
		if run, err = tx.RunByID(run.ID); err != nil {
			return TaskView{}, err
		}
		return v.task(tx, run)
	})
}
