package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
)

// A stage adds Objects to those of the stages before.
type stage struct {
	objects int
	size    int // KB of each manifest, 0 for small ones
	sets    int // of credentials for each target, at least as many as before
}

// String gives the form of the command line.
func (s stage) String() string { return fmt.Sprintf("%dx%dx%d", s.objects, s.size, s.sets) }

// stages are a flag.
type stages []stage

// String gives the form of the command line.
func (s *stages) String() string {
	texts := make([]string, 0, len(*s))
	for _, one := range *s {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, ",")
}

// Set reads the form of the command line.
func (s *stages) Set(text string) error {
	*s = nil
	for one := range strings.SplitSeq(text, ",") {
		var to stage
		if _, err := fmt.Sscanf(one, "%dx%dx%d", &to.objects, &to.size, &to.sets); err != nil || to.sets < 1 {
			return errors.Errorf("cannot read stage %q", one)
		}
		*s = append(*s, to)
	}
	return nil
}

// Large manifests have many short fields, as Deployments have: these take more memory than one long text.
const (
	fieldsPerKB = 16
	smallFields = 5 // as much as a small ConfigMap is
)

// configMap returns a ConfigMap of the size of a stage.
func (s stage) configMap(name string) *corev1.ConfigMap {
	cm := newConfigMap(name)
	for i := range s.size*fieldsPerKB - smallFields {
		cm.Data[fmt.Sprintf("setting-%05d", i)] = fmt.Sprintf("%-45s", name)
	}
	return cm
}

// report prints what has been measured.
func (b *memoryBench) report(t table) {
	for _, m := range b.got {
		t.head(fmt.Sprintf("%d OBJECTS ON %d TARGETS", m.objects, len(b.targets)))
		t.row("their manifests, MB", fmt.Sprintf("%.1f", float64(m.bytes)/mega), "", "")
		t.row("sets of credentials", strconv.Itoa(m.sets), "", "")
		t.row("watched resources", strconv.Itoa(m.watched), "", "")
		t.row("their manifests, MB", fmt.Sprintf("%.1f", float64(m.watchedBytes)/mega), "", "")
		t.held("creation", m.create)
		t.held("restart", m.again)
	}
}

// held prints what a process holds.
func (t table) held(name string, h held) {
	t.row(name+", all is Ready after", seconds(h.wall), "", "")
	t.row("  CPU", seconds(h.cpu), "", "")
	for _, of := range []struct {
		name  string
		bytes int64
	}{{"peak RSS", h.peak}, {"RSS at rest", h.rss}, {"live heap", h.heap}} {
		t.row("  "+of.name+", MB", fmt.Sprintf("%.0f", float64(of.bytes)/mega), "", "")
	}
}
