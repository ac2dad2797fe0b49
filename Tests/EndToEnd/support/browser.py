"""Chromium without a window."""

import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait

from .waiting import TIMEOUT, wait_until


class Browser:
    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        arguments = [
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=900,900", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--proxy-server=direct://",
            f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium's sandbox does not run as root
        for argument in arguments:
            options.add_argument(argument)
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def open(self, url):
        self.driver.get(url)

    def log_in_at_glewlwyd(self, username, password):
        waiting = WebDriverWait(self.driver, TIMEOUT)
        waiting.until(expected_conditions.element_to_be_clickable((By.ID, "username"))).send_keys(username)
        self.driver.find_element(By.ID, "password").send_keys(password)
        self.driver.find_element(By.CSS_SELECTOR, "button[type=submit], #buttonLogin, button[name=loginbut]").click()

    def click_until(self, names, condition):
        """Clicks each button that has one of these names, until the condition holds."""
        def step():
            if condition():
                return True
            for button in self.driver.find_elements(By.CSS_SELECTOR, "button"):
                try:
                    if button.is_displayed() and button.is_enabled() and button.text.strip() in names:
                        button.click()
                        break
                except Exception:  # the page changed at the same moment
                    continue
            return False
        try:
            wait_until(step, f"a page after {names}")
        except AssertionError as error:
            raise AssertionError(f"{error}; at {self.driver.current_url}: {self.text}") from None

    @property
    def title(self):
        return self.driver.title

    @property
    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def kill(self):
        self.driver.quit()
