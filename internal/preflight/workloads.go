package preflight

import (
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ours is how images and packages of this provider are named.
const ours = "provider-kcp"

// containerOfPackage is the container of a DeploymentRuntimeConfig that runs the program of a package.
const containerOfPackage = "package-runtime"

// programs are the names of the programs in the images of the former providers.
var programs = map[string]string{ProviderKubernetes: "crossplane-kubernetes-provider", APISyncAgent: "api-syncagent"}

// A FlagCheck says which flags and variables of a former provider have no effect here, by their names and with the
// reason. The error means that this provider would not start with them.
type FlagCheck func(args, env []string) (noEffect map[string]string, err error)

// A workload is a Deployment that runs a provider, or would.
type workload struct {
	name      string // with the namespace
	cure      string // what stops it
	running   bool
	byPackage bool // Crossplane runs it
	settings  settings
}

// settings are how a provider is started.
type settings struct{ args, env []string }

// workloads are the Deployments of a control plane that matter.
type workloads struct {
	former, ours []workload
	runtimes     map[string]settings // of DeploymentRuntimeConfigs, by their names
	named        map[string]bool     // whether they name the ServiceAccount, by their names
	used         map[string]struct{} // names of DeploymentRuntimeConfigs that Providers of the former one name
}

// newWorkloads returns none.
func newWorkloads() *workloads {
	return &workloads{runtimes: map[string]settings{}, named: map[string]bool{}, used: map[string]struct{}{}}
}

// addDeployment adds a Deployment if it is one of a former provider, or of ours.
func (w *workloads) addDeployment(from string, u *unstructured.Unstructured) error {
	d := &appsv1.Deployment{}
	if err := decode(u, d); err != nil {
		return err
	}
	is := workload{
		name:      qualified(d.GetNamespace(), d.GetName()),
		cure:      "kubectl scale deployment " + d.GetName() + " -n " + d.GetNamespace() + " --replicas=0",
		running:   d.Spec.Replicas == nil || *d.Spec.Replicas > 0 || d.Status.Replicas > 0,
		byPackage: byPackage(d.GetOwnerReferences()),
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		switch {
		case strings.HasPrefix(repository(c.Image), ours):
			w.ours = append(w.ours, is)
		case strings.HasPrefix(repository(c.Image), from), len(c.Command) > 0 && path.Base(c.Command[0]) == programs[from]:
			is.settings = settingsOf(c)
			w.former = append(w.former, is)
		}
	}
	return nil
}

// repository returns the last part of the name of an image, without tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func settingsOf(c corev1.Container) settings {
	s := settings{args: c.Args}
	if len(c.Command) > 1 {
		s.args = append(slices.Clone(c.Command[1:]), c.Args...)
	}
	for _, e := range c.Env {
		s.env = append(s.env, e.Name)
	}
	return s
}

// addPackage adds the DeploymentRuntimeConfig that a Provider of the former one names.
func (w *workloads) addPackage(from string, u *unstructured.Unstructured) {
	of, _, _ := unstructured.NestedString(u.Object, "spec", "package")
	config, _, _ := unstructured.NestedString(u.Object, "spec", "runtimeConfigRef", "name")
	if config != "" && strings.HasPrefix(repository(of), from) {
		w.used[config] = struct{}{}
	}
}

// addRuntime adds a DeploymentRuntimeConfig.
func (w *workloads) addRuntime(u *unstructured.Unstructured) error {
	spec, _, _ := unstructured.NestedMap(u.Object, "spec", "deploymentTemplate")
	d := &appsv1.Deployment{}
	template := &unstructured.Unstructured{Object: map[string]any{"spec": spec["spec"]}}
	if err := decode(template, d); err != nil {
		return err
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == containerOfPackage {
			w.runtimes[u.GetName()] = settingsOf(c)
		}
	}
	account, _, _ := unstructured.NestedString(u.Object, "spec", "serviceAccountTemplate", "metadata", "name")
	w.named[u.GetName()] = account != "" || d.Spec.Template.Spec.ServiceAccountName != ""
	return nil
}

// judge adds which providers run that are to be stopped first.
func (w *workloads) judge(t *tally, from string) {
	what := "Deployment of " + from
	here := slices.ContainsFunc(w.ours, func(o workload) bool { return o.running })
	for _, f := range w.former {
		switch {
		case !f.running:
			t.add(kept(what+" that is stopped"), f.name)
		case here:
			t.add(refused(what+" that runs beside this provider", "both would write in turn", "stop one of them: "+f.cure),
				f.name)
		case f.byPackage:
			t.add(verdict{
				effect: Kept, what: what + " that Crossplane runs",
				why: "Crossplane stops it when you change spec.package of the Provider",
			}, f.name)
		default:
			t.add(refused(what+" that runs", "both would write in turn", f.cure), f.name)
		}
	}
	if len(w.former) == 0 {
		t.addCount(verdict{effect: Kept, what: what, why: "none is on this control plane: stop it where it runs"}, "", 0)
	}
}

// judgeFlags adds flags that mean nothing here, or keep this provider from starting.
func (w *workloads) judgeFlags(t *tally, check FlagCheck) {
	for _, f := range w.former {
		f.settings.judge(t, "Deployment "+f.name, check)
	}
	for _, name := range slices.Sorted(maps.Keys(w.used)) {
		w.runtimes[name].judge(t, "DeploymentRuntimeConfig "+name, check)
		if named, known := w.named[name]; known && !named {
			t.add(refused("ServiceAccount that the DeploymentRuntimeConfig does not name",
				"Crossplane names it after the package, and what was bound to the former name is lost",
				"name the present ServiceAccount in it: docs/migrate-from-provider-kubernetes.md"), name)
		}
	}
}

func (s settings) judge(t *tally, where string, check FlagCheck) {
	noEffect, err := check(s.args, s.env)
	for name, why := range noEffect {
		t.add(differs("flag "+name+" without effect", why), where)
	}
	if err != nil {
		t.add(refused("flags that this provider does not start with", err.Error(),
			"take the flag out: docs/configuration.md"), where)
	}
}

// value returns what a flag is set to by the arguments, empty if it is not.
func (s settings) value(flag string) string {
	for i, a := range s.args {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			return v
		}
		if a == flag && i+1 < len(s.args) {
			return s.args[i+1]
		}
	}
	return ""
}
