package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
)

// configOptions says what this build has and where it reads from.
func (e *env) configOptions() config.Options {
	return config.Options{Env: e.lookup, Built: config.Parts{}}
}

// find returns the configuration file, which exists.
func (e *env) find() (string, error) {
	if e.isScript() && e.configFlag == "" {
		return e.existing(config.FileName)
	}
	name, err := config.Find(e.configFlag, e.configOptions())
	if errors.Is(err, config.ErrNotFound) {
		return "", core.Errorf("config_missing", "no configuration file found: looked for ./%[1]s and ~/.skein/%[1]s", config.FileName).
			WithRemedy("write one with `skein init`, name one with --config, or try `skein demo`, which needs none")
	}
	if err != nil {
		return "", err
	}
	return e.existing(name)
}

// existing returns the path of a configuration file that somebody named.
func (e *env) existing(name string) (string, error) {
	path := e.path(name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", core.Errorf("config_missing", "there is no configuration file %s", name).WithRemedy("`skein init` writes one")
	}
	return path, nil
}

// load reads the configuration without its secrets, for commands that look.
// Warnings are dropped: `skein config check` prints them.
func (e *env) load() (*config.Config, error) {
	if e.config != nil {
		return e.config, nil
	}
	name, err := e.find()
	if err != nil {
		return nil, err
	}
	cfg, _, err := config.Load(name, e.configOptions())
	return cfg, err
}

// loadFully reads a configuration with its secrets, for a gateway, and hands
// on the warnings.
func (e *env) loadFully(name string) (*config.Config, config.Warnings, error) {
	cfg, warnings, err := config.Load(name, e.configOptions())
	if err != nil {
		return nil, nil, err
	}
	err = cfg.ResolveSecrets(e.configOptions())
	return cfg, warnings, err
}

// logger is a log whose level follows the configuration.
type logger struct {
	*slog.Logger
	level *slog.LevelVar
}

// newLog returns the log that the configuration asks for.
func newLog(cfg *config.Config, w io.Writer) logger {
	l := logger{level: new(slog.LevelVar)}
	l.follow(cfg)
	o := &slog.HandlerOptions{Level: l.level}
	if cfg.Logging.Format == config.LogJSON {
		l.Logger = slog.New(slog.NewJSONHandler(w, o))
	} else {
		l.Logger = slog.New(slog.NewTextHandler(w, o))
	}
	return l
}

// follow takes over the level of a configuration.
func (l logger) follow(cfg *config.Config) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Logging.Level)); err == nil {
		l.level.Set(level)
	}
}

// printWarnings prints one line for each warning.
func printWarnings(w io.Writer, warnings config.Warnings) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
}
