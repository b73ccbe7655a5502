package preflight

import (
	"path"
	"slices"
	"strings"

	pkgv1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ours is how images and packages of this provider are named.
const ours = "provider-kcp"

// programs are the names of the programs in the images of the former providers.
var programs = map[string]string{ProviderKubernetes: "crossplane-kubernetes-provider", APISyncAgent: "api-syncagent"}

// A workload is a Deployment that runs a provider, or would.
type workload struct {
	name      string // with the namespace
	cure      string // what stops it
	running   bool
	byPackage bool // Crossplane runs it
	args      []string
}

// workloads are the Deployments of a control plane that matter.
type workloads struct {
	former, ours []workload
	used         []string // names of DeploymentRuntimeConfigs that Providers of the former one name
}

// addDeployment adds a Deployment if it is one of a former provider, or of ours.
func (w *workloads) addDeployment(from string, u *unstructured.Unstructured) error {
	d := &appsv1.Deployment{}
	if err := decode(u, d); err != nil {
		return err
	}
	is := workload{
		name:      nameOf(d),
		cure:      "kubectl scale deployment " + d.GetName() + " -n " + d.GetNamespace() + " --replicas=0",
		running:   d.Spec.Replicas == nil || *d.Spec.Replicas > 0 || d.Status.Replicas > 0,
		byPackage: byPackage(d.GetOwnerReferences()),
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		switch {
		case strings.HasPrefix(repository(c.Image), ours):
			w.ours = append(w.ours, is)
		case strings.HasPrefix(repository(c.Image), from), len(c.Command) > 0 && path.Base(c.Command[0]) == programs[from]:
			is.args = arguments(c, d.GetNamespace())
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

// arguments returns those of a container, with the values of the variables that they name, as in $(POD_NAMESPACE).
func arguments(c corev1.Container, namespace string) []string {
	var values []string
	for _, e := range c.Env {
		if f := e.ValueFrom; f != nil && f.FieldRef != nil && f.FieldRef.FieldPath == "metadata.namespace" {
			e.Value = namespace
		}
		values = append(values, "$("+e.Name+")", e.Value)
	}
	var args []string
	for _, a := range append(slices.Clone(c.Command), c.Args...) {
		args = append(args, strings.NewReplacer(values...).Replace(a))
	}
	return args
}

// addPackage adds the DeploymentRuntimeConfig that a Provider of the former one names.
func (w *workloads) addPackage(from string, u *unstructured.Unstructured) {
	of, _, _ := unstructured.NestedString(u.Object, "spec", "package")
	config, _, _ := unstructured.NestedString(u.Object, "spec", "runtimeConfigRef", "name")
	if config != "" && strings.HasPrefix(repository(of), from) {
		w.used = append(w.used, config)
	}
}

// judgeDependents adds the packages in Crossplane's Lock that depend on the former provider.
func judgeDependents(t *tally, from string, u *unstructured.Unstructured) error {
	lock := pkgv1beta1.Lock{}
	if err := decode(u, &lock); err != nil {
		return err
	}
	for _, p := range lock.Packages {
		if slices.ContainsFunc(p.Dependencies, func(d pkgv1beta1.Dependency) bool { return repository(d.Package) == from }) {
			t.add(refused("package that depends on "+from, "Crossplane would install "+from+" again",
				"take the dependency out: docs/how-to/migrate-from-provider-kubernetes.md, step 3"), p.Name)
		}
	}
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
			t.add(refused(what+" that runs next to this provider", "both would write the same resources",
				"stop one of them: "+f.cure), f.name)
		case f.byPackage:
			t.add(verdict{
				effect: Kept, what: what + " that Crossplane runs",
				why: "Crossplane stops it when you change spec.package of the Provider",
			}, f.name)
		default:
			t.add(refused(what+" that runs", "both would write the same resources", f.cure), f.name)
		}
	}
	if len(w.former) == 0 {
		t.addCount(verdict{effect: Kept, what: what, why: "this control plane has none: stop the former provider where it " +
			"runs"}, "", 0)
	}
}

// judgeAccount adds that a package would not keep its ServiceAccount, if a DeploymentRuntimeConfig of a former Provider
// says so.
func (w *workloads) judgeAccount(t *tally, u *unstructured.Unstructured) {
	if !slices.Contains(w.used, u.GetName()) {
		return
	}
	for _, at := range [][]string{
		{"spec", "serviceAccountTemplate", "metadata", "name"},
		{"spec", "deploymentTemplate", "spec", "template", "spec", "serviceAccountName"},
	} {
		if name, _, _ := unstructured.NestedString(u.Object, at...); name != "" {
			return
		}
	}
	t.add(refused("ServiceAccount that the DeploymentRuntimeConfig does not name",
		"Crossplane names it after the package, and the bindings of the former name no longer apply",
		"set the current ServiceAccount in it: docs/how-to/migrate-from-provider-kubernetes.md, step 4"), u.GetName())
}

// value returns what a flag is set to, empty if it is not.
func (w workload) value(flag string) string {
	for i, a := range w.args {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			return v
		}
		if a == flag && i+1 < len(w.args) {
			return w.args[i+1]
		}
	}
	return ""
}
