package app

import "github.com/skein-bot/skein/core/tool"

// Registry is the tools of the runtime.
func (a *App) Registry() *tool.Registry { return a.tools }
