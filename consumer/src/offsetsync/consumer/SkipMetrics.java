package offsetsync.consumer;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;

/**
 * Four numbers by JMX, {@code offsetsync.consumer:type=skip-read,client-id=…}; Kafka's own registry has another
 * constructor in every other version.
 */
final class SkipMetrics implements DynamicMBean {
    /** Records taken out. */
    final AtomicLong skipped = new AtomicLong();
    /** Partitions with a list in use. */
    final AtomicLong lists = new AtomicLong();
    /** Times that commits were asked for. */
    final AtomicLong asked = new AtomicLong();
    /** Times that something failed, and records were delivered for it. */
    final AtomicLong failed = new AtomicLong();

    private final Map<String, AtomicLong> byName = new TreeMap<>();
    private ObjectName name;

    SkipMetrics() {
        byName.put("skipped-total", skipped);
        byName.put("lists", lists);
        byName.put("asked-total", asked);
        byName.put("failed-total", failed);
    }

    /** Registers; of two consumers with one client id only the first is shown. */
    void register(String clientId) throws JMException {
        ObjectName wanted = new ObjectName(
            "offsetsync.consumer:type=skip-read,client-id=" + ObjectName.quote(clientId));
        if (!ManagementFactory.getPlatformMBeanServer().isRegistered(wanted)) {
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, wanted);
            name = wanted;
        }
    }

    /** Unregisters; throws nothing. */
    void unregister() {
        try {
            if (name != null) {
                ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
            }
        } catch (JMException | RuntimeException gone) {
            // Another caller has unregistered it.
        }
        name = null;
    }

    @Override
    public Object getAttribute(String attribute) throws AttributeNotFoundException {
        AtomicLong value = byName.get(attribute);
        if (value == null) {
            throw new AttributeNotFoundException(attribute);
        }
        return value.get();
    }

    @Override
    public AttributeList getAttributes(String[] attributes) {
        AttributeList found = new AttributeList();
        for (String each : attributes) {
            if (byName.containsKey(each)) {
                found.add(new Attribute(each, byName.get(each).get()));
            }
        }
        return found;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " cannot be set");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] words, String[] types) {
        throw new UnsupportedOperationException(action);
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] infos = byName.keySet().stream()
            .map(each -> new MBeanAttributeInfo(each, "long", each, true, false, false))
            .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(SkipRead.class.getName(), "what SkipRead has done", infos, null, null, null);
    }
}
