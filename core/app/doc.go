// Package app is the embeddable runtime: New, Start, Reload, Stop. Its
// defaults equal those of the skein program, which is a thin shell around it.
//
//	cfg, _, err := config.Load("skein.json5", config.Options{})
//	err = cfg.ResolveSecrets(config.Options{})
//	...
//	a, err := app.New(app.Options{Config: cfg, Channels: registry})
//	err = a.Start(ctx)
//	...
//	err = a.Stop(ctx)
//
// It joins the rooms of core with thread bindings, the configuration and the
// channel adapters; none of those knows the others.
//
//	adapters ─▶ intake ─▶ kernel ─▶ agent ─▶ subagent ─▶ delivery ─▶ adapters
//	                 └──────── one store, one world ────────┘
//
// Start takes over what an earlier process left before it opens intake; Stop
// lets turns finish; Kill is what a crash looks like, for tests.
package app
