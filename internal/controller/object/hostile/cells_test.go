package hostile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
)

// verbs are those an Object sends.
var verbs = []hostile.Verb{
	hostile.Probe, hostile.Discovery, hostile.Get, hostile.List, hostile.Watch, hostile.Patch, hostile.Delete,
}

// A cell is one mode for one verb, and the target that has it.
type cell struct {
	mode hostile.Mode
	verb hostile.Verb // empty if the mode is one of connections

	name   string          // of the ProviderConfig, and of the Objects up to a suffix
	server *hostile.Server // which says what nobody else does
}

// table returns all modes for all verbs that they are made for, without targets.
func table() []*cell {
	var all []*cell
	for _, m := range hostile.Modes() {
		if m.Connection() {
			all = append(all, &cell{mode: m, name: strings.ToLower(m.Name)})
		}
		for _, v := range verbs {
			if m.For(v) {
				all = append(all, &cell{mode: m, verb: v, name: strings.ToLower(m.Name + "-" + string(v))})
			}
		}
	}
	return all
}

// late reports whether the target is well until its Objects are Ready.
func (c *cell) late() bool { return c.verb == hostile.Delete || c.mode.Name == "Mute" }

// must reports whether nothing can be done on the target, so that its Objects must say so.
func (c *cell) must() bool {
	if slices.Contains([]string{"NoStreamedLists", "Late", "EverySecond"}, c.mode.Name) {
		return false
	}
	return c.mode.Connection() || c.verb == hostile.Discovery || c.verb == hostile.Patch
}

// start starts the target, in front of the real one.
func (c *cell) start(t *testing.T, w world) {
	t.Helper()
	c.server = w.front(t, c.name,
		hostile.Options{Canary: "canary-of-" + c.name, HTTP1: c.mode.HTTP1, Redirect: w.sink})
}

// sicken sets the mode. What makes an Object send the verb at all goes with it.
func (c *cell) sicken(t *testing.T) {
	t.Helper()
	switch {
	case c.mode.Connection():
		c.server.Set(c.mode)
		return
	case c.verb == hostile.Get: // Who may watch does not ask.
		c.server.Set(hostile.Find(t, "Forbidden"), hostile.List, hostile.Watch)
	case c.verb == hostile.Watch && !c.late(): // Who may list by a stream does not watch.
		c.server.Set(hostile.Find(t, "NoStreamedLists"), hostile.List)
	}
	c.server.Set(c.mode, c.verb)
}

// says reports whether an Object says what is wrong.
func says(o build.Object) bool {
	s := o.GetCondition(xpv2.TypeSynced)
	return s.Status == corev1.ConditionFalse && s.Reason != "" && strings.TrimSpace(s.Message) != ""
}

// ready reports whether an Object says that all is well.
func ready(o build.Object) bool {
	return o.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue &&
		o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
}

// exists reports whether the target has the ConfigMap of an Object.
func (w world) exists(t *testing.T, name string) bool {
	t.Helper()
	err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.target, Name: name}, &corev1.ConfigMap{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// describe returns the conditions of an Object as text.
func describe(o build.Object) string {
	if o == nil {
		return "gone"
	}
	s, r := o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady)
	return fmt.Sprintf("Synced=%s %s %.300q, Ready=%s %s", s.Status, s.Reason, s.Message, r.Status, r.Reason)
}
